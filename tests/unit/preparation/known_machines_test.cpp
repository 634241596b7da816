// A machine is made once for scenarios that agree in what it is made of, and made anew for any other.
#include <gtest/gtest.h>

#include "sim/preparation/known_machines.hpp"
#include "tests/unit/scenario/small_scenario.hpp"

namespace lockstep::test {
namespace {

using preparation::KnownMachines;

preparation::Machine machine(KnownMachines& known, const Keys& keys) {
  return placed(small_scenario(keys), known).machine;
}

TEST(KnownMachines, ScenariosThatDifferElsewhereShareTheMachine) {
  KnownMachines known;
  const auto first = machine(known, {});
  const auto other = machine(known, {{"model", "{type: two-matmul, layers: 2, d_model: 64, d_ff: 256}"},
                                     {"batch", "{sequences: 16, sequence_length: 32}"}});
  EXPECT_EQ(first.cluster, other.cluster);
  EXPECT_EQ(first.mesh, other.mesh);
  EXPECT_EQ(first.collectives, other.collectives);
}

TEST(KnownMachines, WhatTheMachineIsMadeOfTellsItApart) {
  KnownMachines known;
  const auto first = machine(known, {});
  const auto other_cluster = machine(known, {{"perturbations", "[{chip: [1, 0, 0], slowdown: 2}]"}});
  EXPECT_NE(first.cluster, other_cluster.cluster);
  const auto other_mesh = machine(known, {{"parallel", "{fsdp: 4}"}});
  EXPECT_EQ(first.cluster, other_mesh.cluster);
  EXPECT_NE(first.mesh, other_mesh.mesh);
  const auto other_rules = machine(known, {{"communication", "{rings: topology_aware}"}});
  EXPECT_EQ(first.cluster, other_rules.cluster);
  EXPECT_NE(first.collectives, other_rules.collectives);
}

TEST(KnownMachines, ACopyOfAClusterIsNotTheCluster) {
  KnownMachines one, other;
  EXPECT_NE(machine(one, {}).cluster, machine(other, {}).cluster);
}

// Two are kept: the third takes the place of the one that was used longest ago.
TEST(KnownMachines, OnlyTheLastAreKept) {
  const Keys a, b{{"cluster", "tpu-v5e:4x1"}}, c{{"cluster", "tpu-v6e:4x1"}};
  KnownMachines known;
  const auto of_a = machine(known, a), of_b = machine(known, b);
  EXPECT_EQ(machine(known, a).cluster, of_a.cluster);
  (void)machine(known, c);
  EXPECT_EQ(machine(known, a).cluster, of_a.cluster);
  EXPECT_NE(machine(known, b).cluster, of_b.cluster);
}

}  // namespace
}  // namespace lockstep::test
