// The inputs of a scenario are named once each, and two scenarios that differ in one input differ in its line alone:
// that is what a comparison shows.
#include "tools/output/results/scenario_inputs.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tests/unit/scenario/small_scenario.hpp"

namespace lockstep {
namespace {

using test::Keys;
using test::small_scenario;
using testing::ElementsAre;
using testing::IsEmpty;

output::ScenarioInputs inputs(const Keys& keys = {}) {
  const auto scenario = small_scenario(keys);
  return output::inputs_of(scenario, preparation::prepare(scenario));
}

/// Names of the inputs that differ.
std::set<std::string> differing(const output::ScenarioInputs& one, const output::ScenarioInputs& other) {
  std::set<std::string> names;
  for (const auto* each : {&one, &other}) {
    for (const auto& input : *each) {
      const auto& rest = each == &one ? other : one;
      if (std::find(rest.begin(), rest.end(), input) == rest.end()) names.insert(input.first);
    }
  }
  return names;
}

TEST(ScenarioInputs, AreNamedOnceEach) {
  const auto all = inputs();
  std::set<std::string> names;
  for (const auto& [name, value] : all) {
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_FALSE(value.empty()) << name;
  }
}

TEST(ScenarioInputs, OneKeyChangesOneInput) {
  const auto usual = inputs();
  EXPECT_THAT(differing(usual, inputs()), IsEmpty());
  EXPECT_THAT(differing(usual, inputs({{"training", "{recompute: full}"}})), ElementsAre("recompute"));
  EXPECT_THAT(differing(usual, inputs({{"training", "{optimizer: adafactor}"}})), ElementsAre("optimizer"));
  EXPECT_THAT(differing(usual, inputs({{"communication", "{prefetch: 3}"}})), ElementsAre("prefetch"));
  EXPECT_THAT(differing(usual, inputs({{"communication", "{gradient_buckets: matrix}"}})),
              ElementsAre("buckets of gradients"));
}

// An order from a file has the file's name, also on one rank, where no schedule by name has anything to order.
TEST(ScenarioInputs, AnOrderHasItsName) {
  auto scenario = small_scenario();
  const auto prepared = preparation::prepare(scenario);
  EXPECT_EQ(output::schedule_text(scenario, prepared.pipeline.order), "none");
  scenario.pipeline.file = "mine.csv";
  scenario.pipeline.schedule = "mine";
  EXPECT_EQ(output::schedule_text(scenario, prepared.pipeline.order), "mine");
}

// The file itself describes the small scenario's six layers, so the model has no name; the chip has one.
TEST(ScenarioInputs, WhatAFileDescribesIsCounted) {
  const auto scenario = small_scenario();
  EXPECT_EQ(output::model_text(scenario), "a model of 6 layers");
  EXPECT_EQ(output::chips_text(scenario), "4 tpu-v5p");
}

}  // namespace
}  // namespace lockstep
