// A directed graph of nodes and one-way links, and a table of the link that leaves a device along an axis:
//   number of (device, axis, direction) = 2 (device x axes + axis) + (0 forwards, 1 backwards).
#include "topologies/cluster/cluster_graph_private.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "sim/core/errors.hpp"
#include "tests/unit/topologies/small_torus.hpp"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

topologies::Link one_way(topologies::NodeId from, topologies::NodeId to) {
  return {from, to, topologies::LinkKind::network, BytesPerSecond(1), Seconds(1)};
}

/// A cluster of so many devices on one line axis, joined as the graph says.
topologies::Cluster of(std::unique_ptr<topologies::Cluster::Graph> graph, int devices) {
  return {"test", test::chip(test::never), {{"x", devices, false, BytesPerSecond(1), Seconds(1)}}, std::move(graph)};
}

TEST(ClusterGraph, EveryDeviceAxisAndDirectionHasALinkOfItsOwn) {
  topologies::Cluster::Graph graph(5, 3);
  topologies::LinkId next = 0;
  for (topologies::DeviceId device = 0; device < 5; ++device) {
    for (int axis = 0; axis < 3; ++axis) {
      for (const int direction : {1, -1}) {
        auto& link = graph.neighbours(device, axis).towards(direction);
        EXPECT_EQ(link, -1) << "no links yet";
        link = next++;
      }
    }
  }
  EXPECT_EQ(std::distance(graph.neighbours.begin(), graph.neighbours.end()), 5 * 3);
  EXPECT_EQ(graph.neighbours(2, 1).up, 2 * (2 * 3 + 1));
  EXPECT_EQ(graph.neighbours(2, 1).down, 2 * (2 * 3 + 1) + 1) << "no other has overwritten it";
}

TEST(ClusterGraph, NumbersNodesAndLinksAsTheyCome) {
  topologies::Cluster::Graph graph(2, 1);
  EXPECT_EQ(graph.add_node(topologies::NodeKind::device, "a"), 0);
  EXPECT_EQ(graph.add_node(topologies::NodeKind::device, "b"), 1);
  EXPECT_EQ(graph.add_node(topologies::NodeKind::network_switch, "s"), 2);
  EXPECT_EQ(graph.add_link(one_way(0, 2)), 0);
  EXPECT_EQ(graph.add_link({0, 1, topologies::LinkKind::ici, BytesPerSecond(1), Seconds(0), 0, 1}), 1);
  EXPECT_EQ(graph.add_link({1, 0, topologies::LinkKind::ici, BytesPerSecond(1), Seconds(0), 0, -1}), 2);
  EXPECT_EQ(graph.links[1].to, 1);
  // Only links along an axis are neighbours.
  EXPECT_EQ(graph.neighbours(0, 0).up, 1);
  EXPECT_EQ(graph.neighbours(0, 0).down, -1);
  EXPECT_EQ(graph.neighbours(1, 0).up, -1);
  EXPECT_EQ(graph.neighbours(1, 0).down, 2);
}

// On a ring of two both directions lead to the same neighbour, over links of their own.
TEST(ClusterGraph, ParallelLinksStaySeveral) {
  auto graph = std::make_unique<topologies::Cluster::Graph>(2, 1);
  graph->add_node(topologies::NodeKind::device, "a");
  graph->add_node(topologies::NodeKind::device, "b");
  for (const int direction : {1, -1})
    graph->add_link({0, 1, topologies::LinkKind::ici, BytesPerSecond(1), Seconds(0), 0, direction});
  const topologies::Cluster cluster = of(std::move(graph), 2);
  EXPECT_EQ(cluster.links(), 2);
  EXPECT_EQ(cluster.neighbour_link(0, 0, 1), 0);
  EXPECT_EQ(cluster.neighbour_link(0, 0, -1), 1);
  EXPECT_EQ(cluster.neighbour_link(1, 0, 1), -1);
}

TEST(RouteNodes, NeedsNoLinkToWhereItIs) {
  auto graph = std::make_unique<topologies::Cluster::Graph>(1, 1);
  graph->add_node(topologies::NodeKind::device, "alone");
  EXPECT_THAT(of(std::move(graph), 1).route_nodes(0, 0), IsEmpty());
}

// Links are one way: there is a route to the end of a one-way street, and none back.
TEST(RouteNodes, AnUnreachableNodeIsABug) {
  auto graph = std::make_unique<topologies::Cluster::Graph>(2, 1);
  graph->add_node(topologies::NodeKind::device, "a");
  graph->add_node(topologies::NodeKind::device, "b");
  graph->add_link(one_way(0, 1));
  const topologies::Cluster cluster = of(std::move(graph), 2);
  EXPECT_THAT(cluster.route_nodes(0, 1), ElementsAre(0));
  try {
    static_cast<void>(cluster.route_nodes(1, 0));
    FAIL() << "must throw";
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(), "no route from b to a");
  }
}

// Routes on random graphs connect their ends and have as many links as the shortest path of Floyd and Warshall.
TEST(RouteNodes, HasTheFewestHops) {
  constexpr int far = 1000;
  std::mt19937 random(1);
  int unreachable = 0;
  for (int round = 0; round < 60; ++round) {
    const int nodes = 1 + static_cast<int>(random() % 9);
    auto graph = std::make_unique<topologies::Cluster::Graph>(nodes, 1);
    for (int i = 0; i < nodes; ++i) graph->add_node(topologies::NodeKind::device, std::to_string(i));
    std::vector<std::vector<int>> hops(static_cast<std::size_t>(nodes),
                                       std::vector<int>(static_cast<std::size_t>(nodes), far));
    const auto at = [&](topologies::NodeId from, topologies::NodeId to) -> int& {
      return hops[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
    };
    for (int link = static_cast<int>(random() % 20); link > 0; --link) {
      const auto from = static_cast<topologies::NodeId>(random() % static_cast<unsigned>(nodes));
      const auto to = static_cast<topologies::NodeId>(random() % static_cast<unsigned>(nodes));
      graph->add_link(one_way(from, to));
      at(from, to) = 1;
    }
    for (topologies::NodeId node = 0; node < nodes; ++node) at(node, node) = 0;
    for (topologies::NodeId by = 0; by < nodes; ++by) {
      for (topologies::NodeId from = 0; from < nodes; ++from) {
        for (topologies::NodeId to = 0; to < nodes; ++to)
          at(from, to) = std::min(at(from, to), at(from, by) + at(by, to));
      }
    }
    const topologies::Cluster cluster = of(std::move(graph), nodes);
    for (topologies::NodeId from = 0; from < nodes; ++from) {
      for (topologies::NodeId to = 0; to < nodes; ++to) {
        if (at(from, to) >= far) {
          ++unreachable;
          EXPECT_THROW(static_cast<void>(cluster.route_nodes(from, to)), InternalError);
          continue;
        }
        topologies::NodeId here = from;
        const auto route = cluster.route_nodes(from, to);
        for (const topologies::LinkId link : route) {
          EXPECT_EQ(cluster.link(link).from, here);
          here = cluster.link(link).to;
        }
        EXPECT_EQ(here, to);
        EXPECT_EQ(std::ssize(route), at(from, to));
      }
    }
  }
  EXPECT_GT(unreachable, 50);
}

}  // namespace
}  // namespace lockstep
