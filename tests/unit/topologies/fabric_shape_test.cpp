#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep {
namespace {

using test::link_named;
using test::switches;

std::vector<std::string> axis_names(const topologies::Cluster& cluster) {
  std::vector<std::string> names;
  for (const topologies::PhysicalAxis& axis : cluster.axes())
    names.push_back(axis.name + ' ' + std::to_string(axis.size));
  return names;
}

std::map<topologies::LinkKind, int> count_links(const topologies::Cluster& cluster) {
  std::map<topologies::LinkKind, int> count;
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) ++count[cluster.link(id).kind];
  return count;
}

/// Axes are named from outside in; an axis of one hall, node or pod is left out.
TEST(BuildCluster, AxesAreThoseWithMoreThanOnePosition) {
  const topologies::FabricSpec crossbar = test::fabric(topologies::Crossbar{});
  EXPECT_THAT(axis_names(build_cluster(test::nodes(1, crossbar))), testing::ElementsAre("gpu 4"));
  EXPECT_THAT(axis_names(build_cluster(test::nodes(3, crossbar))), testing::ElementsAre("node 3", "gpu 4"));
  EXPECT_THAT(axis_names(build_cluster(test::pods(2, crossbar, {2, 3}))), testing::ElementsAre("pod 2", "x 2", "y 3"));
  topologies::ClusterSpec halls = test::nodes(3, crossbar);
  halls.halls = 2;
  halls.between_halls = crossbar;
  EXPECT_THAT(axis_names(build_cluster(halls)), testing::ElementsAre("hall 2", "node 3", "gpu 4"));
  halls.units = 1;
  EXPECT_THAT(axis_names(build_cluster(halls)), testing::ElementsAre("hall 2", "gpu 4"));
}

/// One pod alone is the torus it always was: the same nodes, and every link under the same id.
TEST(BuildCluster, ALonePodIsATorus) {
  for (const topologies::WrapRule& wrap : {test::never, test::always}) {
    const topologies::Cluster composed =
        build_cluster(test::pods(1, test::fabric(topologies::Crossbar{}), {4, 3, 2}, wrap));
    const topologies::Cluster torus = test::torus({4, 3, 2}, wrap);
    EXPECT_EQ(composed.to_string(), torus.to_string());
    ASSERT_EQ(composed.links(), torus.links());
    for (topologies::LinkId id = 0; id < torus.links(); ++id) EXPECT_EQ(composed.link_name(id), torus.link_name(id));
    EXPECT_EQ(composed.fabric_spec(), nullptr);
  }
}

/// Inside a pod of many everything is as in one pod: links from (device + pod x size), the same rates, one axis
/// further.
TEST(BuildCluster, PodsOfACompositionAreTori) {
  const topologies::Cluster composed =
      build_cluster(test::pods(3, test::fabric(topologies::Crossbar{}), {4, 3}, test::always));
  const topologies::Cluster torus = test::torus({4, 3}, test::always);
  for (topologies::DeviceId pod = 0; pod < 3; ++pod) {
    for (topologies::DeviceId device = 0; device < 12; ++device) {
      for (const int axis : {0, 1}) {
        for (const int direction : {1, -1}) {
          const topologies::LinkId link = composed.neighbour_link(pod * 12 + device, axis + 1, direction);
          ASSERT_GE(link, 0);
          EXPECT_EQ(composed.link(link).to, pod * 12 + torus.link(torus.neighbour_link(device, axis, direction)).to);
          EXPECT_EQ(composed.link(link).axis, axis + 1);
        }
      }
      EXPECT_EQ(composed.neighbour_link(pod * 12 + device, 0, 1), -1);  // pods are no neighbours
    }
  }
}

/// Nodes of 4 chips, 2 NICs: a switch has 4 links each way, PCIe 4 each way, NICs 2 each way; three nodes of them.
TEST(BuildCluster, NodesHaveTheLinksTheyShould) {
  const topologies::Cluster cluster = build_cluster(test::nodes(3, test::fabric(topologies::Crossbar{})));
  EXPECT_EQ(count_links(cluster), (std::map<topologies::LinkKind, int>{{topologies::LinkKind::scale_up, 24},
                                                                       {topologies::LinkKind::pcie, 24},
                                                                       {topologies::LinkKind::network, 12}}));
  topologies::NodeSpec mesh = test::node();
  mesh.scale_up = topologies::NodeSpec::ScaleUp::full_mesh;  // 4 x 3 ordered pairs each
  EXPECT_EQ(count_links(build_cluster(
                test::nodes(3, test::fabric(topologies::Crossbar{}), mesh)))[topologies::LinkKind::scale_up],
            36);
  // Alone there is nothing for NICs to lead to.
  EXPECT_EQ(count_links(build_cluster(test::nodes(1, {}))),
            (std::map<topologies::LinkKind, int>{{topologies::LinkKind::scale_up, 8}}));
}

/// Rates as achieved: rate of the part x efficiency of what it belongs to (400 x 0.5, 50 x 0.8; PCIe as it is).
TEST(BuildCluster, RatesAreTimesTheEfficiency) {
  topologies::NodeSpec node = test::node();
  node.scale_up_efficiency = 0.5;
  topologies::FabricSpec fabric = test::fabric(topologies::Crossbar{});
  fabric.efficiency = 0.8;
  const topologies::Cluster cluster = build_cluster(test::nodes(2, fabric, node));
  EXPECT_EQ(link_named(cluster, "chip(1,3)>switch(1)").bandwidth, BytesPerSecond(200e9));
  EXPECT_EQ(link_named(cluster, "chip(1,2)>nic(1,1)").bandwidth, BytesPerSecond(60e9));  // chips 2 and 3 share NIC 1
  EXPECT_EQ(link_named(cluster, "nic(1,0)>chip(1,1)").bandwidth, BytesPerSecond(60e9));
  EXPECT_EQ(link_named(cluster, "nic(1,1)>crossbar").bandwidth, BytesPerSecond(40e9));
  EXPECT_EQ(link_named(cluster, "crossbar>nic(0,0)").bandwidth, BytesPerSecond(40e9));
}

/// A slice of 4x2 in hosts of 2x2 has two; each leads to the network with dcn_per_host (25 GB/s), and there is no
/// other switch.
TEST(BuildCluster, HostsOfPodsAreTheirNics) {
  const topologies::Cluster cluster = build_cluster(test::pods(2, test::fabric(topologies::Crossbar{}), {4, 2}));
  EXPECT_EQ(link_named(cluster, "chip(1,2,1)>host(1,1,0)").bandwidth, BytesPerSecond(15e9));
  EXPECT_EQ(link_named(cluster, "host(1,1,0)>crossbar").bandwidth, BytesPerSecond(25e9));
  EXPECT_EQ(count_links(cluster)[topologies::LinkKind::dcn], 2 * 2 * 2);
  EXPECT_EQ(switches(cluster, ""), 1);
}

/// Radix k, no oversubscription: a leaf has k/2 ports down. Two tiers reach k leaves, so k^2/2 NICs; three tiers k pods
/// of k/2 leaves, k^3/4 NICs. With k = 4: 1 tier up to 2 NICs, 2 up to 8, 3 up to 16.
TEST(FatTree, TiersFollowFromTheRadix) {
  const auto cluster = [](int nics) {
    return build_cluster(test::nodes(nics, test::fabric(topologies::FatTree{}, 4), test::node(1, 1)));
  };
  EXPECT_EQ(switches(cluster(2), "leaf"), 1);
  EXPECT_EQ(switches(cluster(2), "spine"), 0);
  EXPECT_EQ(switches(cluster(8), "leaf"), 4);
  EXPECT_EQ(switches(cluster(8), "spine"), 1);  // two cables to two spines, sprayed over: one
  EXPECT_EQ(switches(cluster(9), "leaf"), 5);
  EXPECT_EQ(switches(cluster(9), "spine"), 3);  // pods of two leaves
  EXPECT_EQ(switches(cluster(9), "core"), 1);
  EXPECT_EQ(switches(cluster(16), "spine"), 4);
  EXPECT_FALSE(why_not_a_cluster(test::nodes(17, test::fabric(topologies::FatTree{}, 4), test::node(1, 1))).empty());
}

/// The same trees switch by switch: k/2 spines in a pod, (k/2)^2 cores = 4.
TEST(FatTree, WithEcmpEverySwitchIsThere) {
  const topologies::Cluster cluster = build_cluster(
      test::nodes(16, test::fabric(topologies::FatTree{}, 4, {}, topologies::FabricRouting::ecmp), test::node(1, 1)));
  EXPECT_EQ(switches(cluster, "leaf"), 8);
  EXPECT_EQ(switches(cluster, "spine"), 8);
  EXPECT_EQ(switches(cluster, "core"), 4);
}

/// Uplinks carry the downlinks' bandwidth / r at every tier. 8 NICs of 50 GB/s on 2 leaves, r = 2: 4 x 50 / 2 = 100
/// (leaf ports: d + d/2 <= 8 gives 5; evenly 4). Sprayed over they are one link; else 2 cables of 50.
TEST(FatTree, OversubscriptionIsDownOverUp) {
  const auto build = [](topologies::FabricRouting routing) {
    return build_cluster(test::nodes(8, test::fabric(topologies::FatTree{}, 8, {2}, routing), test::node(1, 1)));
  };
  const topologies::Cluster sprayed = build(topologies::FabricRouting::spray);
  EXPECT_EQ(switches(sprayed, "leaf"), 2);
  EXPECT_DOUBLE_EQ(link_named(sprayed, "leaf(0)>spine(0)").bandwidth.value(), 100e9);
  EXPECT_DOUBLE_EQ(link_named(sprayed, "spine(0)>leaf(1)").bandwidth.value(), 100e9);
  const topologies::Cluster hashed = build(topologies::FabricRouting::ecmp);
  EXPECT_EQ(switches(hashed, "spine"), 2);
  EXPECT_DOUBLE_EQ(link_named(hashed, "leaf(0)>spine(0,1)").bandwidth.value(), 50e9);
}

/// The ratio holds exactly also where cables do not divide: 4 NICs of 50 GB/s over r = 3 need two cables, of
/// 4 x 50 / (3 x 2) = 33.3 GB/s each.
TEST(FatTree, OversubscriptionNeedsNoWholeCables) {
  const topologies::Cluster cluster = build_cluster(
      test::nodes(8, test::fabric(topologies::FatTree{}, 8, {3}, topologies::FabricRouting::ecmp), test::node(4, 4)));
  EXPECT_EQ(switches(cluster, "leaf"), 8);
  EXPECT_EQ(switches(cluster, "spine"), 2);
  EXPECT_DOUBLE_EQ(link_named(cluster, "leaf(0)>spine(0,1)").bandwidth.value(), 200e9 / 6);
}

/// Radix 4, r = 3 at the leaves: 3 ports down, 1 up with 3 x 50 / 3 = 50 GB/s, so 18 NICs make 6 leaves, more than a
/// spine has ports. r = 1 above: 2 leaves in a pod, whose spine has 2 x 50 = 100 GB/s to the cores.
TEST(FatTree, EachTierHasItsOversubscription) {
  const topologies::Cluster cluster =
      build_cluster(test::nodes(18, test::fabric(topologies::FatTree{}, 4, {3, 1}), test::node(1, 1)));
  EXPECT_EQ(switches(cluster, "leaf"), 6);
  EXPECT_EQ(switches(cluster, "spine"), 3);
  EXPECT_DOUBLE_EQ(link_named(cluster, "leaf(5)>spine(2)").bandwidth.value(), 50e9);
  EXPECT_DOUBLE_EQ(link_named(cluster, "spine(2)>core(0)").bandwidth.value(), 100e9);
}

/// A leaf holds whole nodes where one fits: leaves of 5 ports down hold 2 nodes of 2 NICs.
TEST(FatTree, LeavesHoldWholeNodes) {
  const topologies::Cluster cluster = build_cluster(test::nodes(6, test::fabric(topologies::FatTree{}, 10)));
  EXPECT_EQ(switches(cluster, "leaf"), 3);
  EXPECT_EQ(link_named(cluster, "nic(3,1)>leaf(1)").kind, topologies::LinkKind::network);
  EXPECT_EQ(link_named(cluster, "nic(4,0)>leaf(2)").kind, topologies::LinkKind::network);
}

/// The example of docs/models/network.md. Radix 64, r = 4: 51 ports down and 13 up, so six whole nodes of 8; 8 nodes
/// make two leaves of 32 NICs with 32 x 50 / 4 = 400 GB/s up.
TEST(FatTree, LeavesAreFilledEvenly) {
  const topologies::Cluster cluster =
      build_cluster(test::nodes(8, test::fabric(topologies::FatTree{}, 64, {4}), test::node(8, 8)));
  EXPECT_EQ(switches(cluster, "leaf"), 2);
  EXPECT_NO_THROW(static_cast<void>(link_named(cluster, "nic(3,7)>leaf(0)")));
  EXPECT_NO_THROW(static_cast<void>(link_named(cluster, "nic(4,0)>leaf(1)")));
  EXPECT_DOUBLE_EQ(link_named(cluster, "leaf(1)>spine(0)").bandwidth.value(), 400e9);
}

/// NIC i of every node of a scalable unit is on leaf (unit, i): 6 nodes in units of 3 with 2 rails make 4 leaves.
TEST(RailOptimised, ALeafHasOneNicOfEachNode) {
  const topologies::FabricSpec fabric = test::fabric(topologies::RailOptimised{.nodes_per_scalable_unit = 3});
  const topologies::Cluster cluster = build_cluster(test::nodes(6, fabric));
  EXPECT_EQ(switches(cluster, "leaf"), 4);
  for (int node = 0; node < 6; ++node) {
    for (int rail = 0; rail < 2; ++rail) {
      const std::string name = "nic(" + std::to_string(node) + ',' + std::to_string(rail) + ")>leaf(" +
                               std::to_string(node / 3 * 2 + rail) + ')';
      EXPECT_NO_THROW(static_cast<void>(link_named(cluster, name))) << name;
    }
  }
  EXPECT_DOUBLE_EQ(link_named(cluster, "leaf(3)>spine(0)").bandwidth.value(), 3 * 50e9);
}

/// DGX SuperPOD of four scalable units, 32 nodes each: 8 leaves a unit, 32 leaves, each with 32 x 50 GB/s up.
TEST(RailOptimised, ASuperPodAsPublished) {
  topologies::FabricSpec fabric = test::fabric(topologies::RailOptimised{});
  const topologies::Cluster cluster = build_cluster(test::nodes(128, fabric, test::node(8, 8)));
  EXPECT_EQ(switches(cluster, "leaf"), 32);
  EXPECT_DOUBLE_EQ(link_named(cluster, "leaf(31)>spine(0)").bandwidth.value(), 1600e9);
  EXPECT_EQ(switches(cluster, "core"), 0);
}

/// Groups of 3 routers x 2 NICs hold 3 nodes of 2; 9 nodes make 3 groups; 3 x 2 = 6 global links of a group over 2
/// others: 3 to each. Links: 18 NICs, 3 pairs of routers in each of 3 groups, 3 pairs of groups x 3; both ways.
TEST(Dragonfly, GlobalLinksAreSpreadEvenly) {
  const topologies::Cluster cluster = build_cluster(test::nodes(9, test::dragonfly(topologies::FabricRouting::ecmp)));
  EXPECT_EQ(switches(cluster, "router"), 9);
  EXPECT_EQ(count_links(cluster)[topologies::LinkKind::network], 2 * (18 + 9 + 9));
  std::map<topologies::NodeId, int> global_links_of;
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
    const topologies::Link& link = cluster.link(id);
    const std::string& from = cluster.node(link.from).name;
    const std::string& to = cluster.node(link.to).name;
    if (from.starts_with("router") && to.starts_with("router") && from.substr(0, 8) != to.substr(0, 8))
      ++global_links_of[link.from];
  }
  for (const auto& [router, count] : global_links_of) EXPECT_EQ(count, 2) << cluster.node(router).name;
  EXPECT_EQ(global_links_of.size(), 9u);
}

/// Sprayed, the three links of a pair of groups are one of 3 x 50 GB/s between hubs, and each of 9 routers has two ways
/// to its hub, of all its ports but those of NICs: 2 local and 2 global ones. Groups joined by one link have nothing to
/// spray.
TEST(Dragonfly, SprayedOverAllGlobalLinksOfAPair) {
  const topologies::Cluster cluster = build_cluster(test::nodes(9, test::dragonfly()));
  EXPECT_EQ(count_links(cluster)[topologies::LinkKind::network], 2 * (18 + 9 + 2 * 9 + 3));
  EXPECT_DOUBLE_EQ(link_named(cluster, "group(0)>group(2)").bandwidth.value(), 150e9);
  std::vector<double> latencies;
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
    if (cluster.link_name(id) != "router(1,2)>group(1)") continue;
    EXPECT_DOUBLE_EQ(cluster.link(id).bandwidth.value(), 200e9);
    latencies.push_back(cluster.link(id).latency.value());
  }
  EXPECT_THAT(latencies, testing::ElementsAre(0.0, 1e-6));
  EXPECT_EQ(switches(build_cluster(test::nodes(14, test::dragonfly())), "group"), 0);  // 5 groups, 6 links each
}

/// Halls leave by their top switches: one crossbar each, with `link`, or enough for 3 nodes x 2 NICs x 50 GB/s.
TEST(Halls, TopSwitchesLeadOut) {
  topologies::ClusterSpec spec = test::nodes(3, test::fabric(topologies::Crossbar{}));
  spec.halls = 2;
  spec.between_halls = test::fabric(topologies::Crossbar{});
  EXPECT_DOUBLE_EQ(link_named(build_cluster(spec), "crossbar(1)>crossbar").bandwidth.value(), 300e9);
  spec.between_halls.link = BytesPerSecond(70e9);
  EXPECT_DOUBLE_EQ(link_named(build_cluster(spec), "crossbar(1)>crossbar").bandwidth.value(), 70e9);
  spec.fabric = test::fabric(topologies::FatTree{}, 4, {}, topologies::FabricRouting::ecmp);  // 2 NICs a leaf, 2 spines
  const topologies::Cluster cluster = build_cluster(spec);
  EXPECT_DOUBLE_EQ(link_named(cluster, "spine(1,0,1)>crossbar").bandwidth.value(), 70e9);
}

/// Packets that are sprayed over all spines of a hall leave by the links of all: 6 NICs on leaves of 2 with 2 uplinks
/// make 2 spines, so 2 x 70 GB/s, on two ports of the network between halls. If that hashes, it has every link.
TEST(Halls, ASprayedTopHasTheLinksOfAllItsSwitches) {
  topologies::ClusterSpec spec = test::nodes(3, test::fabric(topologies::FatTree{}, 4));
  spec.halls = 3;
  spec.between_halls = test::fabric(topologies::Crossbar{});
  spec.between_halls.link = BytesPerSecond(70e9);
  EXPECT_DOUBLE_EQ(link_named(build_cluster(spec), "spine(1,0)>crossbar").bandwidth.value(), 140e9);
  // Leaves of 3 ports down hold one hall of 2 each and have 2 uplinks, which spray as one.
  spec.between_halls = test::fabric(topologies::FatTree{}, 6);
  spec.between_halls.link = BytesPerSecond(70e9);
  const topologies::Cluster trees = build_cluster(spec);
  EXPECT_DOUBLE_EQ(link_named(trees, "spine(2,0)>leaf(2)").bandwidth.value(), 140e9);
  EXPECT_DOUBLE_EQ(link_named(trees, "leaf(2)>spine(0)").bandwidth.value(), 140e9);
  spec.between_halls.routing = topologies::FabricRouting::ecmp;
  const topologies::Cluster hashed = build_cluster(spec);
  int ports = 0;
  for (topologies::LinkId id = 0; id < hashed.links(); ++id)
    ports += hashed.link_name(id) == "spine(2,0)>leaf(2)" ? 1 : 0;
  EXPECT_EQ(ports, 2);
}

/// A hall that a leaf between halls has no room for takes leaves of its own: 3 spines on leaves of 2 ports down and 2
/// up take two of these, which are one where packets are sprayed over them, with 2 x 2 x 70 GB/s up.
TEST(Halls, OneOnSeveralLeaves) {
  topologies::ClusterSpec spec = test::nodes(6, test::fabric(topologies::FatTree{}, 6), test::node(1, 1));
  spec.halls = 2;
  spec.between_halls = test::fabric(topologies::FatTree{}, 4);
  spec.between_halls.link = BytesPerSecond(70e9);
  const topologies::Cluster sprayed = build_cluster(spec);
  EXPECT_DOUBLE_EQ(link_named(sprayed, "spine(1,0)>leaf(1)").bandwidth.value(), 210e9);
  EXPECT_DOUBLE_EQ(link_named(sprayed, "leaf(1)>spine(0)").bandwidth.value(), 280e9);
  EXPECT_EQ(sprayed.route(0, 6).size(), sprayed.route_nodes(0, 6).size());
  spec.fabric.routing = spec.between_halls.routing = topologies::FabricRouting::ecmp;
  const topologies::Cluster hashed = build_cluster(spec);
  EXPECT_DOUBLE_EQ(link_named(hashed, "spine(1,0,1)>leaf(2)").bandwidth.value(), 70e9);
  EXPECT_DOUBLE_EQ(link_named(hashed, "spine(1,0,2)>leaf(3)").bandwidth.value(), 70e9);
}

}  // namespace
}  // namespace lockstep
