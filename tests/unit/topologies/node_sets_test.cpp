// Sets of nodes and the links at their edges, on two leaves of two hosts below two spines: leaf-a has four cables of
// 10 GB/s to the spines, leaf-b two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/topologies/graph_of_cluster.hpp"
#include "topologies/cluster/node_sets.hpp"

namespace lockstep {
namespace {

using testing::Contains;

topologies::Cluster two_leaves(topologies::FabricRouting routing) {
  topologies::NetworkGraph graph;
  graph.switches = {{"leaf-a"}, {"leaf-b"}, {"spine-x"}, {"spine-y"}};
  for (int host = 0; host < 4; ++host) {
    graph.hosts.push_back({"gpu" + std::to_string(host), {"mlx0"}});
    graph.cables.push_back({topologies::AdapterEnd{host, 0}, topologies::SwitchEnd{host / 2}, 1, {}, {}, ""});
  }
  for (const auto& [leaf, spine, count] : {std::tuple{0, 2, 3}, {0, 3, 1}, {1, 2, 1}, {1, 3, 1}})
    graph.cables.push_back(
        {topologies::SwitchEnd{leaf}, topologies::SwitchEnd{spine}, count, BytesPerSecond(10e9), {}, ""});
  return build_cluster(
      test::on_graph(test::nodes(4, test::fabric(topologies::Crossbar{}, 64, {}, routing), test::node(1, 1)),
                     std::make_shared<topologies::NetworkGraph>(std::move(graph))));
}

std::vector<std::string> texts(const topologies::Cluster& cluster) {
  std::vector<std::string> texts;
  for (const auto& sets : natural_sets(cluster)) {
    for (topologies::NodeSetId set = 0; set < sets.count; ++set) texts.push_back(edge_text(cluster, sets, set, true));
  }
  return texts;
}

TEST(NodeSets, AreChipsUnitsAndWhatLiesBelowASwitch) {
  const auto sprayed = texts(two_leaves(topologies::FabricRouting::spray));
  EXPECT_THAT(sprayed, Contains("chip(3,0)'s links: 1 x 400 GB/s + 1 x 60.0 GB/s"));  // scale-up, PCIe
  EXPECT_THAT(sprayed, Contains("gpu3/mlx0's links: 1 x 50.0 GB/s"));
  EXPECT_THAT(sprayed, Contains("leaf-a's uplinks: 1 x 40.0 GB/s"));  // parallel cables are one link
  const auto hashed = texts(two_leaves(topologies::FabricRouting::ecmp));
  EXPECT_THAT(hashed, Contains("leaf-a's uplinks: 4 x 10.0 GB/s"));
  EXPECT_THAT(hashed, Contains("leaf-b's uplinks: 2 x 10.0 GB/s"));
}

/// From leaf a to leaf b the cables of leaf b carry the least, 20 GB/s; from one host to the other three, its own NIC;
/// from hosts of both leaves to the others, whatever carries 2 NICs in and out of each leaf: 4 x 50 GB/s at the leaves,
/// or the NICs, 2 x 50 GB/s.
TEST(NodeSets, TheMinCutCarriesTheLeast) {
  for (const auto routing : {topologies::FabricRouting::spray, topologies::FabricRouting::ecmp}) {
    const auto cluster = two_leaves(routing);
    const auto least = [&](const std::vector<int>& from, const std::vector<int>& to) {
      const auto sets = min_cut(cluster, from, to);
      for (const int device : from) EXPECT_EQ(sets.of_node[device], 0);
      for (const int device : to) EXPECT_EQ(sets.of_node[device], 1);
      return edges_of(cluster, sets)[0].out;
    };
    EXPECT_EQ(least({0, 1}, {2, 3}), BytesPerSecond(20e9));
    EXPECT_EQ(least({2, 3}, {0, 1}), BytesPerSecond(20e9));
    EXPECT_EQ(least({0}, {1, 2, 3}), BytesPerSecond(50e9));
    EXPECT_EQ(least({0, 2}, {1, 3}), BytesPerSecond(100e9));
  }
}

}  // namespace
}  // namespace lockstep
