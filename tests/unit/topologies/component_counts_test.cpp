// Parts of small clusters, counted by hand.
#include <gtest/gtest.h>

#include "tests/unit/topologies/small_fabric.hpp"
#include "topologies/fabrics/component_counts.hpp"

namespace lockstep {
namespace {

void expect_counts(const topologies::ClusterSpec& spec, topologies::ComponentCounts expected) {
  const topologies::ComponentCounts counts = count_components(spec);
  EXPECT_EQ(counts.chips, expected.chips);
  EXPECT_EQ(counts.hosts, expected.hosts);
  EXPECT_EQ(counts.nics, expected.nics);
  EXPECT_EQ(counts.switches, expected.switches);
  EXPECT_EQ(counts.links, expected.links);
}

// Three nodes of 4 chips and 2 NICs, each NIC with a cable to the one switch; what is inside a node is the host's.
TEST(ComponentCounts, OfNodesOnACrossbar) {
  expect_counts(test::nodes(3, test::fabric(topologies::Crossbar{})), {12, 3, 6, 1, 6});
}

// 16 NICs on switches of 8 ports: 4 leaves of 4 NICs with 4 uplinks each to 4 spines. 16 + 16 cables.
TEST(ComponentCounts, CablesThatPacketsAreSprayedOverAreSeveral) {
  for (const topologies::FabricRouting routing : {topologies::FabricRouting::spray, topologies::FabricRouting::ecmp}) {
    expect_counts(test::nodes(8, test::fabric(topologies::FatTree{}, 8, {}, routing)), {32, 8, 16, 8, 32});
  }
}

// The leaves of that tree are of tier 1, its spines of tier 2; each of the 16 cables of a kind leads down from one.
TEST(ComponentCounts, OfTiers) {
  for (const auto routing : {topologies::FabricRouting::spray, topologies::FabricRouting::ecmp}) {
    const auto counts = count_components(test::nodes(8, test::fabric(topologies::FatTree{}, 8, {}, routing)));
    EXPECT_EQ(counts.switches_of_tier, (std::vector<std::int64_t>{4, 4}));
    EXPECT_EQ(counts.links_of_tier, (std::vector<std::int64_t>{16, 16}));
  }
  // A torus has no tiers; its hosts have one switch.
  const auto pods = count_components(test::pods(2, test::fabric(topologies::Crossbar{}), {4, 3}));
  EXPECT_EQ(pods.switches_of_tier, (std::vector<std::int64_t>{1}));
  EXPECT_EQ(pods.links_of_tier, (std::vector<std::int64_t>{pods.hosts}));
}

// Ports of 8, all trees of 4 NICs down and 4 up a leaf. Four leaves fill four spines: 16 cables on 4 x 4 ports of 8 are
// two spines, each with 2 cables from each leaf. Two leaves: 8 cables fit one. With 3:1, 6 down and 2 up, three leaves
// have 6 cables for one spine of the two in the graph.
TEST(ComponentCounts, SwitchesAboveLeavesAreBoughtForTheirCables) {
  const auto counted = [](int nodes, double oversubscription) {
    return count_components(test::nodes(nodes, test::fabric(topologies::FatTree{}, 8, {oversubscription})));
  };
  EXPECT_EQ(counted(8, 1).switches, 4 + 4);
  EXPECT_EQ(counted(8, 1).switches_to_buy, 4 + 2);
  EXPECT_EQ(counted(4, 1).switches, 2 + 4);
  EXPECT_EQ(counted(4, 1).switches_to_buy, 2 + 1);
  EXPECT_EQ(counted(9, 3).switches, 3 + 2);
  EXPECT_EQ(counted(9, 3).switches_to_buy, 3 + 1);
}

// Three tiers of switches of 8 ports at full bandwidth, 128 NICs: 32 leaves, 32 spines in 8 pods, and in the graph 16
// cores, whose ports are all in use. Half as many NICs use half of each core's ports, and 8 cores carry their cables.
TEST(ComponentCounts, CoresAreBoughtForTheirCables) {
  const auto counted = [](int nodes) {
    return count_components(test::nodes(nodes, test::fabric(topologies::FatTree{}, 8)));
  };
  EXPECT_EQ(counted(64).switches_to_buy, 32 + 32 + 16);
  EXPECT_EQ(counted(32).switches, 16 + 16 + 16);
  EXPECT_EQ(counted(32).switches_to_buy, 16 + 16 + 8);
}

// What is no tree is bought as it is.
TEST(ComponentCounts, OtherSwitchesAreBoughtAsTheyAre) {
  const auto routers = count_components(test::nodes(6, test::dragonfly()));
  EXPECT_EQ(routers.switches_to_buy, routers.switches);
}

// A node alone has neither NICs nor a network.
TEST(ComponentCounts, OfOneNode) {
  expect_counts(test::nodes(1, test::fabric(topologies::Crossbar{})), {4, 1, 0, 0, 0});
}

// A line of 4 and one of 3 across: 3 x 3 + 4 x 2 cables in each of two pods; every host has its NIC on the one switch.
TEST(ComponentCounts, OfPodsOverADataCentreNetwork) {
  const topologies::ComponentCounts counts =
      count_components(test::pods(2, test::fabric(topologies::Crossbar{}), {4, 3}));
  EXPECT_EQ(counts.chips, 24);
  EXPECT_EQ(counts.nics, counts.hosts);
  EXPECT_EQ(counts.switches, 1);
  EXPECT_EQ(counts.links, 2 * 17 + counts.hosts);
}

// Two halls of two nodes: 8 NICs on the halls' switches, and each of those with a cable to the one between halls.
TEST(ComponentCounts, OfHalls) {
  topologies::ClusterSpec spec = test::nodes(2, test::fabric(topologies::Crossbar{}));
  spec.halls = 2;
  spec.between_halls = test::fabric(topologies::Crossbar{});
  expect_counts(spec, {16, 4, 8, 3, 10});
}

// A torus alone: 3 x 3 + 4 x 2 cables of a 4x3 grid, and its 2 x 2 hosts of 2x2 chips on the switch of their network.
TEST(ComponentCounts, OfOnePod) {
  expect_counts(test::pods(1, test::fabric(topologies::Crossbar{}), {4, 3}), {12, 4, 4, 1, 17 + 4});
  expect_counts(test::pods(1, test::fabric(topologies::Crossbar{}), {1}), {1, 1, 1, 1, 1});
}

// On every network there are as many chips, hosts and NICs as the units have, and each NIC has a cable.
TEST(ComponentCounts, FollowTheUnits) {
  for (const auto& fabric : {test::fabric(topologies::Crossbar{}), test::fabric(topologies::FatTree{}, 8),
                             test::fabric(topologies::RailOptimised{}, 8), test::dragonfly()}) {
    for (const int units : {2, 3, 6}) {
      for (const int nics : {1, 2, 4}) {
        const topologies::ComponentCounts counts = count_components(test::nodes(units, fabric, test::node(4, nics)));
        EXPECT_EQ(counts.chips, 4 * units);
        EXPECT_EQ(counts.hosts, units);
        EXPECT_EQ(counts.nics, nics * units);
        EXPECT_GE(counts.switches, 1);
        EXPECT_GE(counts.links, counts.nics);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep
