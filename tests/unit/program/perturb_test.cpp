// Perturbations change speeds, capacities and routes of a program, and nothing else:
//   slowdown of a rank = product over the perturbations of its chip; capacity of a link = bandwidth x the parts left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/core/errors.hpp"
#include "tests/unit/program/perturbed_machine.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(Perturb, NothingChangesNothing) {
  Machine machine(torus({4, 2}, always));
  EXPECT_EQ(machine.apply({}), "");
  EXPECT_THAT(machine.slow(), IsEmpty());
  EXPECT_THAT(machine.degraded(), IsEmpty());
}

TEST(Perturb, SlowdownsOfAChipMultiply) {
  Machine machine(torus({4, 2}, always));
  EXPECT_EQ(machine.apply({program::SlowChip{{1, 1}, false, 1.5}, program::SlowChip{{1, 1}, false, 2},
                           program::SlowChip{{3, 0}, false, 4}}),
            "");
  EXPECT_THAT(machine.slow(), ElementsAre(3, 6));
  EXPECT_DOUBLE_EQ(machine.slowdown(3), 3);
  EXPECT_DOUBLE_EQ(machine.slowdown(6), 4);
}

// Hosts hold 2x2 chips. On 5x3 the one of chip (4, 2) is clipped to that chip, and that of (2, 1) is whole.
TEST(Perturb, AWholeHostIsItsBlockOfChips) {
  Machine machine(torus({5, 3}, never));
  EXPECT_EQ(machine.apply({program::SlowChip{{2, 1}, true, 2}, program::SlowChip{{4, 2}, true, 3}}), "");
  EXPECT_THAT(machine.slow(), ElementsAre(6, 7, 9, 10, 14));
  EXPECT_DOUBLE_EQ(machine.slowdown(14), 3);
}

// Ranks are slowed down, by devices: with the order of nodes reversed, node 0's chips are the last ranks.
TEST(Perturb, SlowsDownTheRankThatStandsOnTheChip) {
  topologies::ClusterSpec spec = nodes(2, fabric(topologies::Crossbar{}), node(2, 1));
  spec.order = {topologies::RankOrder::Kind::listed, 1, {2, 3, 0, 1}};
  Machine machine(build_cluster(spec));
  EXPECT_EQ(machine.apply({program::SlowChip{{0, 1}, false, 2}}), "");
  EXPECT_THAT(machine.program.slowdown_of_rank, ElementsAre(1, 1, 1, 2));
}

TEST(Perturb, ADegradedLinkIsOneWay) {
  Machine machine(torus({4}, always));
  EXPECT_EQ(
      machine.apply({program::DegradedLink{"chip(0)", "chip(1)", 0.5}, program::DegradedLink{"chip(0)", "chip(1)", 0.5},
                     program::DegradedLink{"chip(0)", "chip(3)", 0.75}}),
      "");
  EXPECT_THAT(machine.degraded(),
              UnorderedElementsAre(testing::Pair("chip(0)>chip(1)", 0.25), testing::Pair("chip(0)>chip(3)", 0.75)));
}

TEST(Perturb, ADegradedNodeIsAllItsLinks) {
  Machine machine(four_nodes());
  EXPECT_EQ(machine.apply({program::DegradedNode{"nic(2,1)", 0.5}}), "");
  std::vector<std::string> names;
  for (const auto& [name, part] : machine.degraded()) {
    names.push_back(name);
    EXPECT_DOUBLE_EQ(part, 0.5);
  }
  EXPECT_THAT(names, UnorderedElementsAre("chip(2,2)>nic(2,1)", "nic(2,1)>chip(2,2)", "chip(2,3)>nic(2,1)",
                                          "nic(2,1)>chip(2,3)", "nic(2,1)>crossbar", "crossbar>nic(2,1)"));
}

TEST(Perturb, RandomChipsAreAsManyAsAskedFor) {
  std::set<std::vector<topologies::DeviceId>> drawn;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    for (const int count : {0, 1, 5, 8}) {
      Machine one(torus({4, 2}, always)), again(torus({4, 2}, always));
      EXPECT_EQ(one.apply({program::RandomSlowChips{count, seed, 1.25}}), "");
      EXPECT_EQ(again.apply({program::RandomSlowChips{count, seed, 1.25}}), "");
      EXPECT_EQ(std::ssize(one.slow()), count);
      EXPECT_EQ(one.slow(), again.slow()) << "the same seed, the same chips";
      for (const topologies::DeviceId device : one.slow())
        EXPECT_DOUBLE_EQ(one.slowdown(device), 1.25) << "drawn twice";
      if (count == 5) drawn.insert(one.slow());
    }
  }
  EXPECT_GT(drawn.size(), 1U) << "every seed draws the same";
}

// On a torus the links between chips can be drawn: 2 x 8 along the ring of 4 and 8 along the line of 2, no PCIe and no
// DCN. On nodes it is the links inside nodes and those of the network: 2 x 16 to the nodes' switches, 2 x 8 of NICs.
TEST(Perturb, RandomLinksAreThoseThatCarryCollectives) {
  Machine pod(torus({4, 2}, always));
  EXPECT_EQ(pod.apply({program::RandomDegradedLinks{24, 1, 0.5}}), "");
  EXPECT_EQ(pod.degraded().size(), 24U);
  for (const auto& [name, part] : pod.degraded()) EXPECT_THAT(name, testing::Not(HasSubstr("host")));

  Machine machine(four_nodes());
  EXPECT_EQ(machine.apply({program::RandomDegradedLinks{48, 1, 0.5}}), "");
  EXPECT_EQ(machine.degraded().size(), 48U);
  for (const auto& [name, part] : machine.degraded()) {
    EXPECT_DOUBLE_EQ(part, 0.5);
    EXPECT_TRUE(name.find("switch") != std::string::npos || name.find("crossbar") != std::string::npos) << name;
  }
  EXPECT_EQ(why_not(program::RandomDegradedLinks{49, 1, 0.5}, machine.cluster), "the cluster has only 48 such links");
}

TEST(WhyNot, SaysWhatTheClusterDoesNotHave) {
  const topologies::Cluster cluster = torus({4, 2}, always);
  EXPECT_EQ(why_not(program::SlowChip{{3, 1}, false, 2}, cluster), "");
  EXPECT_EQ(why_not(program::SlowChip{{4, 1}, false, 2}, cluster), "the cluster has no chip(4,1)");
  EXPECT_EQ(why_not(program::SlowChip{{-1, 0}, false, 2}, cluster), "the cluster has no chip(-1,0)");
  EXPECT_EQ(why_not(program::SlowChip{{3}, false, 2}, cluster), "the cluster has no chip(3)");
  EXPECT_EQ(why_not(program::DegradedLink{"chip(0,0)", "chip(1,0)", 0.5}, cluster), "");
  EXPECT_EQ(why_not(program::DegradedLink{"chip(0,0)", "chip(2,0)", 0.5}, cluster),
            "no link leads from chip(0,0) to chip(2,0)");
  EXPECT_EQ(why_not(program::DegradedLink{"chip(0,0)", "chip(9,0)", 0.5}, cluster), "the cluster has no chip(9,0)");
  EXPECT_EQ(why_not(program::DegradedLink{"leaf(0)", "chip(0,0)", 0.5}, cluster), "the cluster has no leaf(0)");
  EXPECT_EQ(why_not(program::DegradedNode{"host(1,0)", 0.5}, cluster), "");
  EXPECT_EQ(why_not(program::DegradedNode{"host(9,0)", 0.5}, cluster), "the cluster has no host(9,0)");
  EXPECT_EQ(why_not(program::RandomSlowChips{8, 1, 2}, cluster), "");
  EXPECT_EQ(why_not(program::RandomSlowChips{9, 1, 2}, cluster), "the cluster has only 8 chips");
  EXPECT_EQ(why_not(program::Jitter{}, cluster), "");
}

TEST(Perturb, WhatCannotBeIsABug) {
  Machine machine(torus({4}, always));
  EXPECT_THROW((void)machine.apply({program::SlowChip{{7}, false, 2}}), InternalError);
  EXPECT_THROW((void)machine.apply({program::RandomSlowChips{5, 1, 2}}), InternalError);
}

TEST(ChipName, IsThatOfTheCluster) {
  const topologies::Cluster cluster = torus({4, 3, 2}, never);
  for (topologies::DeviceId device = 0; device < cluster.devices(); ++device)
    EXPECT_EQ(program::chip_name(cluster.coordinates(device)), cluster.node(device).name);
}

}  // namespace
}  // namespace lockstep::test
