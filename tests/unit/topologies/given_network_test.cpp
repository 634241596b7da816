// Clusters on networks that a file describes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/topologies/graph_of_cluster.hpp"
#include "topologies/cluster/cluster_symmetry.hpp"

namespace lockstep {
namespace {

using test::as_given;
using testing::ElementsAre;
using testing::HasSubstr;
using topologies::FabricRouting;

constexpr std::array both{FabricRouting::spray, FabricRouting::ecmp};

struct Written {
  std::string name;
  topologies::ClusterSpec spec;
};

/// Trees and rails whose switches have one order, tier by tier, in both: two tiers and three, with and without
/// oversubscription, whole and part leaves.
std::vector<Written> trees(FabricRouting routing) {
  using topologies::FatTree, topologies::RailOptimised;
  std::vector<Written> all{
      {"one leaf", test::nodes(3, test::fabric(FatTree{}, 64, {}, routing))},
      {"two tiers", test::nodes(16, test::fabric(FatTree{}, 8, {}, routing))},
      {"two tiers, 3 to 1", test::nodes(16, test::fabric(FatTree{}, 8, {3}, routing))},
      {"two tiers, the last leaf half full", test::nodes(5, test::fabric(FatTree{}, 8, {}, routing))},
      {"three tiers", test::nodes(32, test::fabric(FatTree{}, 8, {}, routing))},
      {"three tiers, 2 to 1 and 2 to 1", test::nodes(64, test::fabric(FatTree{}, 8, {2, 2}, routing))},
      {"rails", test::nodes(16, test::fabric(RailOptimised{}, 8, {}, routing), test::node(8, 8))},
      {"rails in three tiers", test::nodes(32, test::fabric(RailOptimised{}, 8, {}, routing), test::node(4, 4))}};
  for (Written& one : all) one.spec.fabric.efficiency = 0.5;
  return all;
}

/// A tree that a file lists is the tree that is generated: the same switches and links under the same numbers, with
/// the same rates and latencies, and the same route for every pair. So every simulation of it is the same to the bit.
TEST(GivenNetwork, IsTheTreeThatWasWrittenOut) {
  for (const FabricRouting routing : both) {
    for (const Written& one : trees(routing)) {
      SCOPED_TRACE(one.name);
      const topologies::Cluster generated = build_cluster(one.spec), given = build_cluster(as_given(one.spec));
      ASSERT_EQ(given.nodes(), generated.nodes());
      ASSERT_EQ(given.links(), generated.links());
      for (topologies::LinkId id = 0; id < given.links(); ++id) {
        const topologies::Link &link = given.link(id), &other = generated.link(id);
        ASSERT_EQ(std::pair(link.from, link.to), std::pair(other.from, other.to)) << generated.link_name(id);
        ASSERT_EQ(link.bandwidth, other.bandwidth) << generated.link_name(id);
        ASSERT_EQ(link.latency, other.latency) << generated.link_name(id);
      }
      for (topologies::DeviceId from = 0; from < given.devices(); ++from) {
        for (topologies::DeviceId to = 0; to < given.devices(); ++to)
          ASSERT_EQ(given.route(from, to), generated.route(from, to)) << from << " to " << to;
      }
    }
  }
}

/// What may change places in a generated tree may in the same tree from a file, and nothing else.
TEST(GivenNetwork, IsAsSymmetric) {
  for (const Written& one : trees(FabricRouting::spray)) {
    SCOPED_TRACE(one.name);
    const topologies::Cluster generated = build_cluster(one.spec), given = build_cluster(as_given(one.spec));
    const topologies::ClusterSymmetry expected(generated), found(given);
    for (const int axis : {0, 1}) EXPECT_EQ(found.blocks(axis), expected.blocks(axis));
  }
}

/// Rates and latencies along a route; what an engine sees of it but for the numbers.
std::vector<std::pair<BytesPerSecond, Seconds>> along(const topologies::Cluster& cluster, topologies::DeviceId from,
                                                      topologies::DeviceId to) {
  std::vector<std::pair<BytesPerSecond, Seconds>> links;
  for (const topologies::LinkId id : cluster.route(from, to))
    links.emplace_back(cluster.link(id).bandwidth, cluster.link(id).latency);
  return links;
}

/// Rails with trees of their own: no cable leads from one to another, and data pass through the chip of the node that
/// is on the other's rail. Generated, switches are numbered rail by rail, from a file tier by tier.
TEST(GivenNetwork, ForwardsBetweenSeparateRails) {
  for (const FabricRouting routing : both) {
    const auto spec = test::nodes(
        16,
        test::fabric(topologies::RailOptimised{.rails = topologies::RailOptimised::Rails::separate}, 8, {}, routing),
        test::node(4, 4));
    const topologies::Cluster generated = build_cluster(spec), given = build_cluster(as_given(spec));
    EXPECT_EQ(given.nodes(), generated.nodes());
    EXPECT_EQ(given.links(), generated.links());
    for (topologies::DeviceId from = 0; from < given.devices(); ++from) {
      for (topologies::DeviceId to = 0; to < given.devices(); ++to)
        ASSERT_EQ(along(given, from, to), along(generated, from, to)) << from << " to " << to;
    }
    EXPECT_THAT(test::names(given, given.route(1, 4 * 5 + 2)),  // node 0, rail 1 to node 5, rail 2
                testing::AllOf(testing::Contains("chip(0,1)>switch(0)"), testing::Contains("chip(0,2)>host0/nic2")));
  }
}

// A dragonfly that is written out says nothing of its groups, but they are found, also where its switches are listed in
// another order: routes have as many links as the generated ones, and in the same order they are the same ones.
TEST(GivenNetwork, RoutesOverADragonflyAreThoseOfItsKind) {
  for (const auto routing : {FabricRouting::spray, FabricRouting::ecmp}) {
    for (const int globals : {2, 5}) {
      const auto spec = test::nodes(36, test::fabric(topologies::Dragonfly{.routers_per_group = 4,
                                                                           .nics_per_router = 2,
                                                                           .global_links_per_router = globals},
                                                     16, {}, routing));
      auto graph = test::graph_of(spec);
      const topologies::Cluster generated = build_cluster(spec);
      const topologies::Cluster given =
          build_cluster(test::on_graph(spec, std::make_shared<topologies::NetworkGraph>(graph)));
      const auto turned = [&](topologies::CableEnd end) {
        if (auto* on = std::get_if<topologies::SwitchEnd>(&end))
          on->network_switch = on->network_switch * 7 % graph.switches.count();
        return end;
      };
      auto shuffled = std::make_shared<topologies::NetworkGraph>(graph);
      ASSERT_NE(graph.switches.count() % 7, 0);
      for (topologies::Cable& cable : shuffled->cables) {
        cable.from = turned(cable.from);
        cable.to = turned(cable.to);
      }
      const topologies::Cluster other = build_cluster(test::on_graph(spec, shuffled));
      ASSERT_EQ(given.links(), generated.links());
      ASSERT_EQ(other.links(), generated.links());
      for (topologies::DeviceId from = 0; from < given.devices(); ++from) {
        for (topologies::DeviceId to = 0; to < given.devices(); ++to) {
          const auto route = generated.route(from, to);
          ASSERT_EQ(given.route(from, to), route);
          if (routing == FabricRouting::spray) ASSERT_EQ(other.route(from, to).size(), route.size());
        }
      }
    }
  }
}

topologies::NetworkGraph hosts(int count, int adapters) {
  topologies::NetworkGraph graph;
  for (int host = 0; host < count; ++host) {
    graph.hosts.push_back({"gpu" + std::to_string(host), {}});
    for (int adapter = 0; adapter < adapters; ++adapter)
      graph.hosts.back().adapters.push_back("mlx" + std::to_string(adapter));
  }
  return graph;
}

topologies::ClusterSpec on(topologies::NetworkGraph graph, int nodes, FabricRouting routing = FabricRouting::spray,
                           topologies::NodeSpec node = test::node(1, 1), std::vector<topologies::HostId> of = {}) {
  return test::on_graph(test::nodes(nodes, test::fabric(topologies::Crossbar{}, 64, {}, routing), std::move(node)),
                        std::make_shared<topologies::NetworkGraph>(std::move(graph)), std::move(of));
}

constexpr BytesPerSecond slow(10e9);

/// Two leaves of two hosts below two spines; leaf 0 has three cables to spine 0 and one to spine 1, leaf 1 one to each.
topologies::NetworkGraph uneven() {
  topologies::NetworkGraph graph = hosts(4, 1);
  graph.switches = {{"leaf-a"}, {"leaf-b"}, {"spine-x"}, {"spine-y"}};
  for (int host = 0; host < 4; ++host)
    graph.cables.push_back({topologies::AdapterEnd{host, 0}, topologies::SwitchEnd{host / 2}, 1, {}, {}, ""});
  for (const auto& [leaf, spine, count] : {std::tuple{0, 2, 3}, {0, 3, 1}, {1, 2, 1}, {1, 3, 1}})
    graph.cables.push_back({topologies::SwitchEnd{leaf}, topologies::SwitchEnd{spine}, count, slow, {}, ""});
  return graph;
}

/// Sprayed, the spines are one and their cables one link: 4 x 10 GB/s from leaf a, 2 x 10 GB/s from leaf b. A rate that
/// the file does not say is the NIC's, 50 GB/s. Names are the file's.
TEST(GivenNetwork, SpraysOverParallelCables) {
  const topologies::Cluster cluster = build_cluster(on(uneven(), 4));
  EXPECT_THAT(test::names(cluster, cluster.route(0, 2)),
              ElementsAre("chip(0,0)>gpu0/mlx0", "gpu0/mlx0>leaf-a", "leaf-a>spine-x and 1 more",
                          "spine-x and 1 more>leaf-b", "leaf-b>gpu2/mlx0", "gpu2/mlx0>chip(2,0)"));
  EXPECT_EQ(test::link_named(cluster, "leaf-a>spine-x and 1 more").bandwidth, 4 * slow);
  EXPECT_EQ(test::link_named(cluster, "spine-x and 1 more>leaf-b").bandwidth, 2 * slow);
  EXPECT_EQ(test::link_named(cluster, "gpu0/mlx0>leaf-a").bandwidth, BytesPerSecond(50e9));
  EXPECT_EQ(test::latency(cluster, cluster.route(0, 2)), Seconds(2 * 3e-6 + 2 * 1e-6));
}

/// Hashed, each cable is a link of its own, and over many seeds a pair uses each of the four out of leaf a.
TEST(GivenNetwork, HashesOverEachCable) {
  std::set<topologies::LinkId> used;
  for (std::uint64_t seed = 1; seed <= 64; ++seed) {
    topologies::ClusterSpec spec = on(uneven(), 4, FabricRouting::ecmp);
    spec.fabric.seed = seed;
    const topologies::Cluster cluster = build_cluster(spec);
    used.insert(cluster.route(0, 2)[2]);
    EXPECT_EQ(cluster.link(cluster.route(0, 2)[2]).bandwidth, slow);
    EXPECT_EQ(cluster.route(0, 2), build_cluster(spec).route(0, 2));
  }
  EXPECT_EQ(used.size(), 4u);
}

/// Units stand on the hosts in the order of the list, and switches that only others need are left out.
TEST(GivenNetwork, StandsOnTheHostsListed) {
  const topologies::Cluster cluster = build_cluster(on(uneven(), 2, FabricRouting::spray, test::node(1, 1), {3, 2}));
  EXPECT_THAT(test::names(cluster, cluster.route(0, 1)),
              ElementsAre("chip(0,0)>gpu3/mlx0", "gpu3/mlx0>leaf-b", "leaf-b>gpu2/mlx0", "gpu2/mlx0>chip(1,0)"));
  EXPECT_EQ(test::switches(cluster, "spine"), 0);
  EXPECT_EQ(test::switches(cluster, "leaf"), 1);
}

/// A spine with a host of its own stays a spine: routes between leaves do not turn on the leaf next to it.
TEST(GivenNetwork, ASpineMayHaveHosts) {
  topologies::NetworkGraph graph = hosts(17, 1);
  for (const char* name : {"leaf0", "leaf1", "leaf2", "leaf3", "spine0", "spine1"}) graph.switches.push_back({name});
  for (int host = 0; host < 16; ++host)
    graph.cables.push_back({topologies::AdapterEnd{host, 0}, topologies::SwitchEnd{host / 4}, 1, {}, {}, ""});
  graph.cables.push_back({topologies::AdapterEnd{16, 0}, topologies::SwitchEnd{4}, 1, {}, {}, ""});
  for (int leaf = 0; leaf < 4; ++leaf) {
    for (const int spine : {4, 5})
      graph.cables.push_back({topologies::SwitchEnd{leaf}, topologies::SwitchEnd{spine}, 1, {}, {}, ""});
  }
  const topologies::Cluster cluster = build_cluster(on(std::move(graph), 17));
  EXPECT_EQ(cluster.route(0, 4).size(), 6u);   // chip, NIC, leaf, spines, leaf, NIC, chip
  EXPECT_EQ(cluster.route(0, 16).size(), 5u);  // the host is on the spine
  EXPECT_EQ(test::link_named(cluster, "leaf0>spine0 and 1 more").bandwidth, 2 * BytesPerSecond(50e9));
}

/// An adapter with a port on each of two leaves uses both: sprayed they are one switch, and its NIC's rate is shared.
TEST(GivenNetwork, AnAdapterMayHaveTwoLeaves) {
  topologies::NetworkGraph graph = hosts(4, 1);
  graph.switches = {{"tor-a"}, {"tor-b"}};
  for (int host = 0; host < 4; ++host) {
    for (const int tor : {0, 1})
      graph.cables.push_back({topologies::AdapterEnd{host, 0}, topologies::SwitchEnd{tor}, 1, {}, {}, ""});
  }
  const topologies::Cluster cluster = build_cluster(on(graph, 4));
  EXPECT_EQ(test::link_named(cluster, "gpu0/mlx0>tor-a and 1 more").bandwidth, BytesPerSecond(50e9));
  const topologies::Cluster hashed = build_cluster(on(graph, 4, FabricRouting::ecmp));
  EXPECT_EQ(test::link_named(hashed, "gpu0/mlx0>tor-b").bandwidth, BytesPerSecond(25e9));
  EXPECT_EQ(hashed.route(0, 3).size(), 4u);
}

/// Hosts joined by a cable without a switch.
TEST(GivenNetwork, ACableMayJoinTwoHosts) {
  topologies::NetworkGraph graph = hosts(2, 1);
  graph.cables.push_back({topologies::AdapterEnd{0, 0}, topologies::AdapterEnd{1, 0}, 1, slow, {}, ""});
  const topologies::Cluster cluster = build_cluster(on(graph, 2));
  EXPECT_EQ(cluster.link(cluster.route(0, 1)[1]).bandwidth, slow);
}

/// Nodes whose adapters are on rails 0, 1 and 1, 2 of three: from rail 0 to rail 2 data change in both nodes.
TEST(GivenNetwork, ForwardsInBothNodesWhereItMust) {
  topologies::NetworkGraph graph = hosts(2, 2);
  graph.switches = {{"rail0"}, {"rail1"}, {"rail2"}};
  for (const auto& [host, adapter, rail] : {std::tuple{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 2}})
    graph.cables.push_back({topologies::AdapterEnd{host, adapter}, topologies::SwitchEnd{rail}, 1, {}, {}, ""});
  const topologies::Cluster cluster = build_cluster(on(graph, 2, FabricRouting::spray, test::node(2, 2)));
  EXPECT_THAT(test::names(cluster, cluster.route(0, 3)),
              ElementsAre("chip(0,0)>switch(0)", "switch(0)>chip(0,1)", "chip(0,1)>gpu0/mlx1", "gpu0/mlx1>rail1",
                          "rail1>gpu1/mlx0", "gpu1/mlx0>chip(1,0)", "chip(1,0)>switch(1)", "switch(1)>chip(1,1)"));
}

std::string why(const topologies::ClusterSpec& spec) {
  const auto problems = why_not_a_cluster(spec);
  return problems.empty() ? "" : problems.front().key + ": " + problems.front().what;
}

TEST(GivenNetwork, IsRefusedWhereItJoinsNotAll) {
  topologies::NetworkGraph parted = uneven();
  EXPECT_EQ(why(on(parted, 4)), "");
  EXPECT_EQ(why(on(parted, 5)), "graph: 5 nodes on a graph of 4 hosts");
  EXPECT_THAT(why(on(parted, 4, FabricRouting::spray, test::node(2, 2))),
              HasSubstr("graph: host gpu0 has 1 adapters (and 3 more hosts), and a node has 2 NICs"));
  parted.cables.resize(6);  // leaf a with its spines, leaf b without any
  EXPECT_EQ(why(on(parted, 4)), "graph: no cables lead from gpu0 (and 1 more host) to gpu2 (and 1 more host)");
  parted.cables.erase(parted.cables.begin() + 3);
  EXPECT_EQ(why(on(parted, 4)), "graph: no cable leads from adapter gpu3/mlx0 to another host");
  auto halls = on(uneven(), 2);
  halls.halls = 2;
  halls.between_halls = test::fabric(topologies::Crossbar{});
  EXPECT_EQ(why(halls), "halls: a graph has no halls");
  EXPECT_EQ(why(test::on_graph(test::nodes(2, test::fabric(topologies::Crossbar{})), nullptr)), "graph: is missing");
}

}  // namespace
}  // namespace lockstep
