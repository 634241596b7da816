// A machine is made once for scenarios that agree in what it is made of, and made anew for any other.
#include <gtest/gtest.h>

#include "sim/preparation/known_machines.hpp"
#include "tests/unit/scenario/small_scenario.hpp"

namespace lockstep::test {
namespace {

using preparation::KnownMachines;

preparation::Machine machine(KnownMachines& known, const Keys& keys) {
  return prepare(small_scenario(keys), known).machine;
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

/// Machines of two scenarios, the second asked for after the first.
std::pair<preparation::Machine, preparation::Machine> machines(const Keys& one, const Keys& other) {
  KnownMachines known;
  auto first = machine(known, one);
  return {std::move(first), machine(known, other)};
}

TEST(KnownMachines, WhatTheMachineIsMadeOfTellsItApart) {
  for (const Keys& other : {Keys{{"cluster", "tpu-v5p:2x2x1"}}, Keys{{"cluster", "tpu-v5e:4x1"}},
                            Keys{{"perturbations", "[{chip: [1, 0, 0], slowdown: 2}]"}}}) {
    const auto [first, second] = machines({}, other);
    EXPECT_NE(first.cluster, second.cluster) << other.front().second;
  }
  for (const Keys& other : {Keys{{"parallel", "{fsdp: 4}"}}, Keys{{"communication", "{rings: topology_aware}"}}}) {
    const auto [first, second] = machines({}, other);
    EXPECT_EQ(first.cluster, second.cluster) << other.front().second;
    EXPECT_NE(first.collectives, second.collectives) << other.front().second;
  }
}

TEST(KnownMachines, ACopyOfAClusterIsNotTheCluster) {
  KnownMachines one, other;
  EXPECT_NE(machine(one, {}).cluster, machine(other, {}).cluster);
}

/// What a scenario's layers compute and hold, after another scenario was asked for.
std::string layers_after(const Keys& one, const Keys& other) {
  KnownMachines known;
  (void)prepare(small_scenario(one), known);
  std::string text;
  for (const auto& layer : prepare(small_scenario(other), known).model.layers) {
    text += layer.to_string();
    for (const auto& step : layer.forward) text += " " + std::to_string(step.flops.value());
  }
  return text;
}

// What the model is derived from tells it apart, whatever was known before; a chip or a slow one does not.
TEST(KnownMachines, AModelIsThatOfItsOwnScenario) {
  const Keys wider{{"model", "{type: two-matmul, layers: 2, d_model: 64, d_ff: 512}"}};
  const Keys longer{{"batch", "{sequences: 16, sequence_length: 64}"}}, split{{"parallel", "{fsdp: 4}"}};
  const Keys slow{{"perturbations", "[{chip: [1, 0, 0], slowdown: 2}]"}};
  const auto plain = layers_after({}, {});
  for (const Keys& other : {wider, longer, split}) {
    EXPECT_EQ(layers_after({}, other), layers_after(other, other)) << other.front().second;
    EXPECT_NE(layers_after({}, other), plain) << other.front().second;
  }
  EXPECT_EQ(layers_after(slow, {}), plain);
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
