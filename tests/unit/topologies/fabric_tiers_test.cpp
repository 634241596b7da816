// Trees of more tiers than two, and rails with trees of their own. With switches of k ports and as much bandwidth above
// as below, each switch but the top ones has k/2 ports down, so t tiers reach k (k/2)^(t-1) = k^t / 2^(t-1) NICs:
// k^2/2, k^3/4 (Al-Fares et al., SIGCOMM 2008), k^4/8.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep {
namespace {

using test::link_named;
using test::names;
using test::switches;
using testing::ElementsAre;
using testing::HasSubstr;
using topologies::FabricRouting;
using topologies::FatTree;
using topologies::RailOptimised;

topologies::FabricSpec tiered(int radix, int tiers, FabricRouting routing = FabricRouting::spray) {
  topologies::FabricSpec spec = test::fabric(FatTree{}, radix, {}, routing);
  spec.tiers = tiers;
  return spec;
}

/// Cables between switches or NICs whose names start so.
int cables(const topologies::Cluster& cluster, const std::string& from, const std::string& to) {
  int count = 0;
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
    const topologies::Link& link = cluster.link(id);
    count += cluster.node(link.from).name.starts_with(from) && cluster.node(link.to).name.starts_with(to) ? 1 : 0;
  }
  return count;
}

std::string problem(const topologies::ClusterSpec& spec) {
  const auto problems = why_not_a_cluster(spec);
  return problems.empty()
             ? ""
             : problems.front().key + ": " + problems.front().what + "; expected " + problems.front().expected;
}

/// k = 8: 128 hosts, k^2/2 = 32 leaves and 32 spines, k^2/4 = 16 cores, 80 = 5 k^2/4 in all, and 128 cables between any
/// two tiers: those to the cores are the bisection, twice as many as half the hosts need.
TEST(Tiers, ThreeOfTheFatTreeAsPublished) {
  const topologies::Cluster cluster =
      build_cluster(test::nodes(128, tiered(8, 3, FabricRouting::ecmp), test::node(1, 1)));
  EXPECT_EQ(switches(cluster, "leaf"), 32);
  EXPECT_EQ(switches(cluster, "spine"), 32);
  EXPECT_EQ(switches(cluster, "core"), 16);
  EXPECT_EQ(cables(cluster, "nic", "leaf"), 128);
  EXPECT_EQ(cables(cluster, "leaf", "spine"), 128);
  EXPECT_EQ(cables(cluster, "spine", "core"), 128);
  EXPECT_EQ(cluster.route(0, 127).size(), 8u);
}

/// k = 4, four tiers: 32 NICs on 16 leaves of two; 8 pods of two leaves and two spines; 4 groups of two pods, with 2 x
/// 2 cores each; 2 x 2 x 2 switches join the groups. 32 cables between any two tiers.
TEST(Tiers, FourAreAPodOfPods) {
  const topologies::ClusterSpec spec = test::nodes(32, tiered(4, 4, FabricRouting::ecmp), test::node(1, 1));
  const topologies::Cluster cluster = build_cluster(spec);
  EXPECT_EQ(switches(cluster, "leaf"), 16);
  EXPECT_EQ(switches(cluster, "spine"), 16);
  EXPECT_EQ(switches(cluster, "core"), 16);
  EXPECT_EQ(switches(cluster, "upper-core"), 8);
  EXPECT_EQ(cables(cluster, "leaf", "spine"), 32);
  EXPECT_EQ(cables(cluster, "spine", "core"), 32);
  EXPECT_EQ(cables(cluster, "core", "upper-core"), 32);
  std::set<std::string> all;
  for (topologies::NodeId id = 0; id < cluster.nodes(); ++id) all.insert(cluster.node(id).name);
  EXPECT_EQ(std::ssize(all), cluster.nodes()) << "two switches have one name";
}

/// Every route of four tiers is one of fewest hops, and a path: link by link from chip to chip. Between the halves it
/// climbs three links above the leaf: 2 x (2 + 3).
TEST(Tiers, RoutesClimbOnlyAsFarAsNeeded) {
  for (const FabricRouting routing : {FabricRouting::spray, FabricRouting::ecmp}) {
    const topologies::Cluster cluster = build_cluster(test::nodes(31, tiered(4, 4, routing), test::node(1, 1)));
    for (topologies::DeviceId from = 0; from < 31; ++from) {
      for (topologies::DeviceId to = 0; to < 31; ++to) {
        topologies::NodeId here = from;
        for (const topologies::LinkId link : cluster.route(from, to)) {
          ASSERT_EQ(cluster.link(link).from, here);
          here = cluster.link(link).to;
        }
        EXPECT_EQ(here, to);
        EXPECT_EQ(cluster.route(from, to).size(), cluster.route_nodes(from, to).size());
      }
    }
    EXPECT_EQ(cluster.route(0, 30).size(), 10u);
  }
}

/// Sprayed, a plane of each tier has what all its cables carry: that of 2 NICs of 50 GB/s above a leaf and of 4 above a
/// pod; r = 2 halves that of the 8 NICs in a group of two pods.
TEST(Tiers, EachHasItsOversubscription) {
  topologies::FabricSpec fabric = tiered(4, 4);
  fabric.oversubscription = {1, 1, 2};
  const topologies::Cluster cluster = build_cluster(test::nodes(32, fabric, test::node(1, 1)));
  EXPECT_DOUBLE_EQ(link_named(cluster, "leaf(3)>spine(1)").bandwidth.value(), 100e9);
  EXPECT_DOUBLE_EQ(link_named(cluster, "spine(1)>core(0)").bandwidth.value(), 200e9);
  EXPECT_EQ(switches(cluster, "core"), 4);
  EXPECT_DOUBLE_EQ(link_named(cluster, "core(3)>upper-core(0)").bandwidth.value(), 400e9 / 2);
}

/// k^t / 2^(t-1) NICs are reached by t tiers and one more is not; the refusal names the number.
TEST(Tiers, ReachWhatTheRadixAllows) {
  for (const int k : {2, 4, 6}) {
    int reached = k;
    for (int tiers = 2; tiers <= 4; ++tiers) {
      reached = reached * k / 2;
      EXPECT_EQ(problem(test::nodes(reached, tiered(k, tiers), test::node(1, 1))), "");
      for (const int more : {1, 50}) {
        EXPECT_THAT(problem(test::nodes(reached + more, tiered(k, tiers), test::node(1, 1))),
                    HasSubstr("reach at most " + std::to_string(reached) + " nodes, not " +
                              std::to_string(reached + more) + " nodes; expected at most " + std::to_string(reached)));
      }
    }
  }
  EXPECT_THAT(problem(test::nodes(4, tiered(2, 3), test::node(8, 8))), HasSubstr("2 ports do not reach 4 nodes"));
}

/// Meta's clusters of 24,576 GPUs (Dubey et al., arXiv 2407.21783, section 3.3.1): racks of two servers of 8 GPUs, pods
/// of 192 racks without oversubscription, eight pods joined with 1:7. Leaves need 16 + 16 ports, spines 192 + 192/7,
/// rounded up to 28, and above them 8 are enough. The network has 3072 x 50 GB/s / 7 out of a pod.
TEST(Tiers, OfMetasClustersAsPublished) {
  topologies::FabricSpec fabric = test::fabric(FatTree{}, 32, {1, 7});
  fabric.radix_above = {220, 8};
  const topologies::Cluster cluster = build_cluster(test::nodes(3072, fabric, test::node(8, 8)));
  EXPECT_EQ(switches(cluster, "leaf"), 1536);
  EXPECT_EQ(switches(cluster, "spine"), 8);
  EXPECT_DOUBLE_EQ(link_named(cluster, "leaf(1535)>spine(7)").bandwidth.value(), 16 * 50e9);
  EXPECT_DOUBLE_EQ(link_named(cluster, "spine(7)>core(0)").bandwidth.value(), 3072 * 50e9 / 7);
  fabric.radix_above = {219, 8};  // 191 + 28 ports: 8 x 191 racks of two
  EXPECT_THAT(problem(test::nodes(3072, fabric, test::node(8, 8))),
              HasSubstr("switches of 32, 219 and 8 ports reach at most 3056 nodes"));
}

/// NVIDIA's table of larger SuperPODs, 64 scalable units: 512 leaves, 512 spines, 16,384 cables between any two tiers.
/// The 256 cores that it lists have 64 ports each, as many as the 32 x 32 that are modelled with 16 pods each.
TEST(Tiers, OfALargeSuperPodAsPublished) {
  const topologies::Cluster cluster = build_cluster(test::nodes(
      2048, test::fabric(RailOptimised{.nodes_per_scalable_unit = 32}, 64, {}, FabricRouting::ecmp), test::node(8, 8)));
  EXPECT_EQ(switches(cluster, "leaf"), 512);
  EXPECT_EQ(switches(cluster, "spine"), 512);
  EXPECT_EQ(switches(cluster, "core") * 16, 256 * 64);
  EXPECT_EQ(cables(cluster, "nic", "leaf"), 16384);
  EXPECT_EQ(cables(cluster, "leaf", "spine"), 16384);
  EXPECT_EQ(cables(cluster, "spine", "core"), 16384);
}

topologies::FabricSpec rails(RailOptimised::Rails of, int radix = 4, FabricRouting routing = FabricRouting::spray) {
  return test::fabric(RailOptimised{.rails = of}, radix, {}, routing);
}

/// Nodes with two NICs, k = 4: one tree over both rails holds 16 NICs, 8 nodes; a tree for each holds 16 nodes.
TEST(RailTrees, AreTakenWhereOneTreeDoesNotReach) {
  using Rails = RailOptimised::Rails;
  EXPECT_EQ(switches(build_cluster(test::nodes(8, rails(Rails::as_needed))), "core"), 1);
  EXPECT_EQ(switches(build_cluster(test::nodes(8, rails(Rails::separate))), "core"), 0) << "8 NICs need two tiers";
  EXPECT_THAT(problem(test::nodes(9, rails(Rails::joined))), HasSubstr("reach at most 8 nodes, not 9"));
  const topologies::Cluster cluster = build_cluster(test::nodes(16, rails(Rails::as_needed)));
  EXPECT_THAT(cluster.name(), HasSubstr("a tree for each rail"));
  EXPECT_EQ(switches(cluster, "leaf"), 16);
  EXPECT_EQ(switches(cluster, "core"), 2);
  EXPECT_THAT(problem(test::nodes(17, rails(Rails::as_needed))),
              HasSubstr("reach at most 16 nodes, not 17 nodes, even with trees of their own for the rails"));
  topologies::ClusterSpec pods = test::pods(2, rails(Rails::separate), {4, 4});
  EXPECT_THAT(problem(pods), HasSubstr("fabric.rails: only chips of a node"));
}

/// Chips 0 and 1 of a node share NIC 0, chips 2 and 3 NIC 1. On its own rail a chip goes by the tree alone; to the
/// other it first passes the data to the chip beside it there, over the node's switch (NCCL's PXN), or, where the own
/// node's other NIC is off the network, the last node passes it on.
TEST(RailTrees, AnotherRailIsReachedThroughTheNode) {
  topologies::Cluster cluster = build_cluster(test::nodes(3, rails(RailOptimised::Rails::separate, 8)));
  EXPECT_THAT(names(cluster, cluster.route(1, 8)),
              ElementsAre("chip(0,1)>nic(0,0)", "nic(0,0)>leaf(0,0)", "leaf(0,0)>nic(2,0)", "nic(2,0)>chip(2,0)"));
  EXPECT_THAT(names(cluster, cluster.route(1, 10)),
              ElementsAre("chip(0,1)>switch(0)", "switch(0)>chip(0,3)", "chip(0,3)>nic(0,1)", "nic(0,1)>leaf(1,0)",
                          "leaf(1,0)>nic(2,1)", "nic(2,1)>chip(2,2)"));
  topologies::MissingLinks missing(static_cast<std::size_t>(cluster.links()));
  for (topologies::LinkId id = 0; id < cluster.links(); ++id)
    missing[static_cast<std::size_t>(id)] = cluster.link_name(id) == "nic(0,1)>leaf(1,0)";
  cluster.avoid(missing);
  EXPECT_THAT(names(cluster, cluster.route(1, 10)),
              ElementsAre("chip(0,1)>nic(0,0)", "nic(0,0)>leaf(0,0)", "leaf(0,0)>nic(2,0)", "nic(2,0)>chip(2,0)",
                          "chip(2,0)>switch(2)", "switch(2)>chip(2,2)"));
}

/// Every pair has a path on any rails, hashed or sprayed, in halls too; each link starts where the last one ends.
TEST(RailTrees, EveryPairHasAPath) {
  for (const FabricRouting routing : {FabricRouting::spray, FabricRouting::ecmp}) {
    for (const int halls : {1, 2}) {
      topologies::ClusterSpec spec = test::nodes(9, rails(RailOptimised::Rails::separate, 6, routing));
      spec.halls = halls;
      spec.between_halls = test::fabric(FatTree{}, 8, {}, routing);  // a hall takes two leaves
      const topologies::Cluster cluster = build_cluster(spec);
      for (topologies::DeviceId from = 0; from < cluster.devices(); ++from) {
        for (topologies::DeviceId to = 0; to < cluster.devices(); ++to) {
          std::set<topologies::NodeId> seen{from};
          topologies::NodeId here = from;
          for (const topologies::LinkId link : cluster.route(from, to)) {
            ASSERT_EQ(cluster.link(link).from, here);
            here = cluster.link(link).to;
            EXPECT_TRUE(seen.insert(here).second) << cluster.node(here).name << " twice";
          }
          EXPECT_EQ(here, to);
        }
      }
    }
  }
}

}  // namespace
}  // namespace lockstep
