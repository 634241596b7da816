// A network that is written as our YAML reads back as the same: of every format, and of random graphs.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "tests/unit/graph/network_files.hpp"
#include "topologies/graph/write_network.hpp"

namespace lockstep::test {
namespace {

using topologies::NetworkGraph;

std::vector<std::string> all_of(const NetworkGraph& graph) {
  std::vector<std::string> lines{graph.name};
  for (const auto& host : graph.hosts) {
    lines.push_back("host " + host.name);
    for (const auto& adapter : host.adapters) lines.push_back("adapter " + adapter);
  }
  for (const auto& one : graph.switches) lines.push_back("switch " + one.name);
  for (auto& cable : cables_of(graph)) lines.push_back(std::move(cable));
  return lines;
}

void expect_same(const NetworkGraph& graph) {
  const auto yaml = network_yaml(graph);
  const auto again = import_text(yaml).graph;
  EXPECT_EQ(all_of(again), all_of(graph)) << yaml;
  ASSERT_EQ(again.cables.size(), graph.cables.size());
  for (std::size_t i = 0; i < graph.cables.size(); ++i) {  // to the last bit
    EXPECT_EQ(again.cables[i].rate, graph.cables[i].rate);
    EXPECT_EQ(again.cables[i].latency, graph.cables[i].latency);
  }
}

TEST(NetworkYaml, EveryFormatReadsBack) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(network_file(""))) {
    const std::string name = entry.path().filename().string();
    if (name == "SOURCES" || name.find("_node.xml") != std::string::npos || name.find("_topo.txt") != std::string::npos)
      continue;
    SCOPED_TRACE(name);
    expect_same(import_file(name).graph);
    ++files;
  }
  EXPECT_GE(files, 11);
  expect_same(import_text(leaf_spine_dump(5, 3, 2, 2)).graph);
}

// Hosts, switches and cables that are alike share lines: 8,192 hosts below 256 leaves, each leaf with its line and all
// leaves with one for the spines, are no 300 lines.
TEST(NetworkYaml, IsCompact) {
  const auto graph =
      import_text(
          "hosts: [{names: \"gpu[0001-8192]\", adapters: 1}]\nswitches: [\"leaf[001-256]\", \"spine[01-16]\"]\n"
          "links:\n  - {from: \"gpu[0001-8192]\", to: \"leaf[001-256]\", pairs: in blocks, rate: 400 Gbps}\n"
          "  - {from: \"leaf[001-256]\", to: \"spine[01-16]\", count: 2, rate: 400 Gbps}\n")
          .graph;
  const auto yaml = network_yaml(graph);
  EXPECT_LE(std::count(yaml.begin(), yaml.end(), '\n'), 6 + 256 + 1);
  EXPECT_EQ(all_of(import_text(yaml).graph), all_of(graph));
}

// Random graphs with names that need quotes and backslashes, rates and latencies of any double, parallel cables of
// several speeds, and cables between hosts.
TEST(NetworkYaml, RandomGraphsReadBack) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t end) { return static_cast<int>(random() % end); };
  const std::vector<std::string> starts{"gpu", "a,b", "x[", "back\\", "#n: ", "7", "null", "'q'", "é"};
  for (int round = 0; round < 200; ++round) {
    NetworkGraph graph;
    graph.name = starts[static_cast<std::size_t>(below(9))];
    const int hosts = 1 + below(6), switches = 1 + below(4);
    for (int i = 0; i < hosts; ++i) {
      topologies::NetworkHost host{starts[static_cast<std::size_t>(below(9))] + std::to_string(i), {}};
      for (int j = 0; j <= below(3); ++j) host.adapters.push_back((below(2) == 0 ? "nic" : "7") + std::to_string(j));
      graph.hosts.push_back(host);
    }
    for (int i = 0; i < switches; ++i)
      graph.switches.push_back({"s" + starts[static_cast<std::size_t>(below(9))] + std::to_string(i)});
    const auto cable = [&](topologies::CableEnd from, topologies::CableEnd to) {
      topologies::Cable made{from, to, 1 + below(3), {}, {}, below(3) == 0 ? "4x: NDR" : ""};
      if (below(2) == 0) made.rate = BytesPerSecond(1 + static_cast<double>(random() >> 11) / (1 + below(1000)));
      if (below(2) == 0) made.latency = Seconds(below(1000) / (1.0 + below(1'000'000)));
      graph.cables.push_back(made);
    };
    // In the order of the ends, which every reader keeps.
    for (int host = 0; host < hosts; ++host) cable(topologies::AdapterEnd{host, 0}, topologies::SwitchEnd{0});
    for (int one = 0; one + 1 < switches; ++one) cable(topologies::SwitchEnd{one}, topologies::SwitchEnd{one + 1});
    expect_same(graph);
  }
}

}  // namespace
}  // namespace lockstep::test
