// Parts of small clusters, counted by hand.
#include <gtest/gtest.h>

#include "tests/unit/topologies/small_fabric.hpp"
#include "topologies/fabrics/component_counts.hpp"

namespace lockstep {
namespace {

void expect_counts(const ClusterSpec& spec, ComponentCounts expected) {
  const ComponentCounts counts = count_components(spec);
  EXPECT_EQ(counts.chips, expected.chips);
  EXPECT_EQ(counts.hosts, expected.hosts);
  EXPECT_EQ(counts.nics, expected.nics);
  EXPECT_EQ(counts.switches, expected.switches);
  EXPECT_EQ(counts.links, expected.links);
}

// Three nodes of 4 chips and 2 NICs, each NIC with a cable to the one switch; what is inside a node is the host's.
TEST(ComponentCounts, OfNodesOnACrossbar) { expect_counts(test::nodes(3, test::fabric(Crossbar{})), {12, 3, 6, 1, 6}); }

// 16 NICs on switches of 8 ports: 4 leaves of 4 NICs with 4 uplinks each to 4 spines. 16 + 16 cables.
TEST(ComponentCounts, CablesThatPacketsAreSprayedOverAreSeveral) {
  for (const FabricRouting routing : {FabricRouting::spray, FabricRouting::ecmp}) {
    expect_counts(test::nodes(8, test::fabric(FatTree{}, 8, {}, routing)), {32, 8, 16, 8, 32});
  }
}

// A node alone has neither NICs nor a network.
TEST(ComponentCounts, OfOneNode) { expect_counts(test::nodes(1, test::fabric(Crossbar{})), {4, 1, 0, 0, 0}); }

// A line of 4 and one of 3 across: 3 x 3 + 4 x 2 cables in each of two pods; every host has its NIC on the one switch.
TEST(ComponentCounts, OfPodsOverADataCentreNetwork) {
  const ComponentCounts counts = count_components(test::pods(2, test::fabric(Crossbar{}), {4, 3}));
  EXPECT_EQ(counts.chips, 24);
  EXPECT_EQ(counts.nics, counts.hosts);
  EXPECT_EQ(counts.switches, 1);
  EXPECT_EQ(counts.links, 2 * 17 + counts.hosts);
}

}  // namespace
}  // namespace lockstep
