// The formats that no tool of an administrator writes: our YAML, GraphML, edge lists, and those of other simulators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/graph/network_files.hpp"
#include "topologies/graph/network_levels.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// 64 hosts of 8 adapters: 512 cables to 16 rails, 16 x 4 pairs of rail and spine of 4 cables each. Adapter 3 of a host
// of the first half leads to rail3a.
TEST(NetworkFormats, OurYaml) {
  const auto import = import_file("rails.yaml");
  EXPECT_EQ(import.graph.name, "rails");
  EXPECT_EQ(count_adapters(import.graph), 64 * 8);
  EXPECT_EQ(count_cables(import.graph), 512 + 16 * 4 * 4);
  EXPECT_THAT(cables_of(import.graph), testing::IsSupersetOf({"gpu32:mlx5_3 1x rail3a 400 Gb/s 600.00 ns 4xNDR",
                                                              "gpu33:mlx5_3 1x rail3b 400 Gb/s 600.00 ns 4xNDR",
                                                              "rail3b 4x spine2 400 Gb/s 600.00 ns 4xNDR"}));
}

// `pairs` by hand: all: each with each; in turn: 1-x 2-y 3-x 4-y; in blocks: 1-x 2-x 3-y 4-y. Switches that are joined
// to themselves are joined once a pair.
TEST(NetworkFormats, PairsOfALink) {
  const auto cables = [](const std::string& link) {
    return cables_of(import_text("hosts: [{names: \"h[1-4]\", adapters: 1}]\nswitches: [x, y]\nlinks:\n"
                                 "  - {from: x, to: y}\n  - " +
                                 link + "\n")
                         .graph);
  };
  EXPECT_THAT(cables("{from: \"h[1-4]\", to: \"x,y\", pairs: in turn}"),
              ElementsAre("h1:nic0 1x x", "h2:nic0 1x y", "h3:nic0 1x x", "h4:nic0 1x y", "x 1x y"));
  EXPECT_THAT(cables("{from: \"h[1-4]\", to: \"x,y\", pairs: in blocks}"),
              ElementsAre("h1:nic0 1x x", "h2:nic0 1x x", "h3:nic0 1x y", "h4:nic0 1x y", "x 1x y"));
  EXPECT_EQ(cables("{from: \"h[1-4]\", to: \"x,y\"}").size(), 9u);
  const auto mesh = import_text(
      "hosts: [{names: \"h[1-4]\", adapters: 1}]\nswitches: [\"s[1-4]\"]\nlinks:\n"
      "  - {from: \"s[1-4]\", to: \"s[1-4]\"}\n  - {from: \"h[1-4]\", to: \"s[1-4]\", pairs: in turn}\n");
  EXPECT_EQ(count_cables(mesh.graph), 4 * 3 / 2 + 4);
}

// Two hosts, of which one has a NIC and a chip of its own nodes; four parallel cables between the switches.
TEST(NetworkFormats, GraphMl) {
  const auto import = import_file("small.graphml");
  EXPECT_THAT(cables_of(import.graph), ElementsAre("gpu1:nic0 1x leaf 400 Gb/s", "gpu1:nic1 1x leaf 400 Gb/s",
                                                   "gpu2:nic0 1x other 400 Gb/s 600.00 ns", "leaf 4x other 800 Gb/s"));
  EXPECT_THAT(import.notes, ElementsAre(HasSubstr("2 edges between chips")));
}

TEST(NetworkFormats, GraphMlWithoutHostsTakesChipsAsHosts) {
  const auto import = import_text(
      "<graphml><key id=\"k\" for=\"node\" attr.name=\"kind\"/><graph edgedefault=\"undirected\">"
      "<node id=\"a\"><data key=\"k\">chip</data></node><node id=\"b\"><data key=\"k\">chip</data></node>"
      "<node id=\"s\"><data key=\"k\">switch</data></node>"
      "<edge source=\"a\" target=\"s\"/><edge source=\"s\" target=\"b\"/></graph></graphml>");
  EXPECT_THAT(cables_of(import.graph), ElementsAre("a:nic0 1x s", "b:nic0 1x s"));
}

TEST(NetworkFormats, EdgeList) {
  EXPECT_THAT(cables_of(import_file("small.csv").graph),
              ElementsAre("gpu1:nic0 1x leaf1 400 Gb/s 500.00 ns", "gpu1:nic1 1x leaf1 400 Gb/s 500.00 ns",
                          "gpu2:nic0 1x leaf1 400 Gb/s 500.00 ns", "gpu2:nic1 1x leaf1 400 Gb/s 500.00 ns",
                          "gpu3:nic0 1x leaf2 200 Gb/s", "leaf1 2x spine 800 Gb/s 300.00 ns",
                          "leaf2 1x spine 800 Gb/s 300.00 ns"));
}

// 4 x 3 x 2 NPUs: 6 rings of 4 links, 8 full meshes of 3 links, 12 switches of 2 links, at 200, 100 and 50 GB/s.
TEST(NetworkFormats, AstraSim) {
  const auto import = import_file("astra_sim.yml");
  EXPECT_EQ(import.graph.hosts.count(), 24);
  EXPECT_EQ(import.graph.switches.count(), 12);
  EXPECT_EQ(count_cables(import.graph), 6 * 4 + 8 * 3 + 12 * 2);
  EXPECT_THAT(cables_by_speed(import.graph), ElementsAre(testing::Pair("1600 Gb/s", 24), testing::Pair("400 Gb/s", 24),
                                                         testing::Pair("800 Gb/s", 24)));
  const auto latency = import.graph.cables.back().latency;
  ASSERT_TRUE(latency.has_value());
  EXPECT_EQ(latency->value(), 1000.5 / 1e9);
}

// A ring of two has one link, not two; a dimension of one has none.
TEST(NetworkFormats, AstraSimSmallRings) {
  const auto import =
      import_text("topology: [Ring, Ring]\nnpus_count: [2, 1]\nbandwidth: [1.0, 1.0]\nlatency: [1, 1]\n");
  EXPECT_THAT(cables_of(import.graph), ElementsAre(HasSubstr("npu0:dim0.0 1x npu1:dim0.0")));
}

// A latency of -0 is 0, which reads back as it is written.
TEST(NetworkFormats, NegativeZeroIsZero) {
  const auto import = import_text("topology: [Ring]\nnpus_count: [2]\nbandwidth: [1.0]\nlatency: [-0.0]\n");
  EXPECT_FALSE(std::signbit(import.graph.cables.at(0).latency->value()));
}

// Two servers of two GPUs: the links to NVSwitches stay inside; GPU i leads to switch 6 + i mod 2.
TEST(NetworkFormats, SimAi) {
  const auto import = import_file("simai.topo");
  EXPECT_THAT(
      cables_of(import.graph),
      ElementsAre("server0:gpu0.0 1x switch6 200 Gb/s 500.00 ns", "server0:gpu1.1 1x switch7 200 Gb/s 500.00 ns",
                  "server1:gpu2.0 1x switch6 200 Gb/s 500.00 ns", "server1:gpu3.1 1x switch7 200 Gb/s 500.00 ns",
                  "switch6 1x switch8 400 Gb/s 500.00 ns", "switch7 1x switch8 400 Gb/s 500.00 ns"));
  EXPECT_THAT(import.notes, testing::Contains(HasSubstr("4 links of 2880Gbps inside servers and 2 NVSwitches")));
}

}  // namespace
}  // namespace lockstep::test
