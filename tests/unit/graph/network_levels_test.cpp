#include "topologies/graph/network_levels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/graph/network_files.hpp"
#include "topologies/graph/network_parts.hpp"

namespace lockstep::test {
namespace {

using topologies::NetworkGraph;

int level_of(const NetworkGraph& graph, const std::string& name) {
  const auto levels = network_levels(graph);
  for (const auto id : graph.switches.ids()) {
    if (graph.switches[id].name == name) return levels.level[id];
  }
  return -1;
}

topologies::SwitchCables switch_cables(const NetworkGraph& graph, const std::string& name) {
  const auto levels = network_levels(graph);
  for (const auto id : graph.switches.ids()) {
    if (graph.switches[id].name == name) return levels.cables[id];
  }
  return {};
}

// Three tiers: hosts, leaves, spines, cores.
TEST(NetworkLevels, OfATree) {
  const auto graph = import_file("slurm_tree.conf").graph;
  EXPECT_EQ(level_of(graph, "leaf1"), 1);
  EXPECT_EQ(level_of(graph, "spine2"), 2);
  EXPECT_EQ(level_of(graph, "core"), 3);
}

// A spine with two hosts of its own among 34 cables stays a spine, by role; by distance from hosts it would be a leaf,
// its leaves would have no uplinks to it, and twice the over-subscription. Leaves: 16 down, 16 up.
TEST(NetworkLevels, ASpineWithHostsOfItsOwn) {
  const auto graph = import_text(
                         "hosts:\n  - {names: \"h[1-32]\", adapters: 1}\n  - {names: \"manager[1-2]\", adapters: 1}\n"
                         "switches: [\"leaf[1-2],spine[1-2]\"]\n"
                         "links:\n  - {from: \"h[1-32]\", to: \"leaf[1-2]\", pairs: in blocks, rate: 400 Gbps}\n"
                         "  - {from: \"leaf[1-2]\", to: \"spine[1-2]\", count: 8, rate: 400 Gbps}\n"
                         "  - {from: \"manager[1-2]\", to: spine1, rate: 100 Gbps}\n")
                         .graph;
  EXPECT_EQ(level_of(graph, "leaf1"), 1);
  EXPECT_EQ(level_of(graph, "spine1"), 2);
  EXPECT_EQ(level_of(graph, "spine2"), 2);
  EXPECT_EQ(switch_cables(graph, "leaf1").ratio(), 1.0);
  EXPECT_EQ(switch_cables(graph, "spine1").down, 16 + 2);
}

// Leaves with more cables up than down, as in a fabric with a few hosts yet, remain leaves.
TEST(NetworkLevels, LeavesWithFewHosts) {
  const auto graph = import_text(leaf_spine_dump(4, 2, 3, 3)).graph;
  EXPECT_EQ(level_of(graph, "leaf-3"), 1);
  EXPECT_EQ(level_of(graph, "spine-0"), 2);
  EXPECT_DOUBLE_EQ(*switch_cables(graph, "leaf-0").ratio(), 2.0 / 9);
}

// In a dragonfly every router has hosts, and all are of one level, without over-subscription.
TEST(NetworkLevels, OfADragonfly) {
  const auto graph =
      import_text(
          "hosts: [{names: \"h[0-7]\", adapters: 1}]\nswitches: [\"r[0-3]\"]\nlinks:\n"
          "  - {from: \"h[0-7]\", to: \"r[0-3]\", pairs: in blocks}\n  - {from: \"r[0-3]\", to: \"r[0-3]\"}\n")
          .graph;
  for (const char* router : {"r0", "r1", "r2", "r3"}) {
    EXPECT_EQ(level_of(graph, router), 1);
    EXPECT_EQ(switch_cables(graph, router).level, 3);
    EXPECT_FALSE(switch_cables(graph, router).ratio().has_value());
  }
}

// Rates count, not cables: 4 x 400 Gb/s down over 2 x 800 Gb/s up is 1, though there are twice as many cables.
TEST(NetworkLevels, OverSubscriptionIsOfRates) {
  const auto cables = switch_cables(import_file("small.csv").graph, "leaf1");
  EXPECT_EQ(cables.down, 4);
  EXPECT_EQ(cables.up, 2);
  EXPECT_EQ(cables.ratio(), 1.0);
  EXPECT_EQ(cables.down_rate->value(), 4 * 400e9 / 8);
}

// Rails that nothing joins are one part, since every host has an adapter on each of them.
TEST(NetworkParts, RailsAreJoinedThroughHosts) {
  const auto graph = import_text(
                         "hosts: [{names: \"h[1-4]\", adapters: 2}]\nswitches: [\"rail[0-1]\"]\nlinks:\n"
                         "  - {from: \"h[1-4]\", to: \"rail[0-1]\", pairs: in turn}\n")
                         .graph;
  ASSERT_EQ(network_parts(graph).size(), 1u);
  EXPECT_EQ(network_parts(graph).front().hosts, 4u);
}

// The largest part comes first: h2 to h4 are three, h1 is one.
TEST(NetworkParts, LargestFirst) {
  NetworkGraph graph;
  for (const char* name : {"h1", "h2", "h3", "h4"}) graph.hosts.push_back({name, {"nic0"}});
  graph.switches.push_back({"s"});
  for (int host = 1; host < 4; ++host)
    graph.cables.push_back({topologies::AdapterEnd{host, 0}, topologies::SwitchEnd{0}, 1, {}, {}, ""});
  const auto parts = network_parts(graph);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].hosts, 3u);
  EXPECT_EQ(parts[0].example, 1);
  EXPECT_EQ(parts[1].hosts, 1u);
}

}  // namespace
}  // namespace lockstep::test
