// The timing rule (pipeline_timing.hpp) on every golden order, against makespans, idle times and held microbatches
// that were computed apart from Lockstep (tests/data/pipeline/expected.json). Unit times are F = I = W = 1, unequal
// ones F = 1, I = 1.2, W = 0.8; the latency is 0 or 0.1; "pair2" gives an overlapped pair 2 instead of F + I + W.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/schedules/golden_orders.hpp"
#include "workloads/pipeline/pipeline_timing.hpp"

namespace lockstep {
namespace {

constexpr double tolerance = 1e-9;

const std::map<std::string, workloads::PipelineTimes>& cases() {
  static const std::map<std::string, workloads::PipelineTimes> all = {
      {"unit_c0", {{{1, 1, 1}}, 0, std::nullopt}},     {"unit_c0.1", {{{1, 1, 1}}, 0.1, std::nullopt}},
      {"uneq_c0", {{{1, 1.2, 0.8}}, 0, std::nullopt}}, {"uneq_c0.1", {{{1, 1.2, 0.8}}, 0.1, std::nullopt}},
      {"unit_c0_pair2", {{{1, 1, 1}}, 0, 2.0}},
  };
  return all;
}

template <class Visit>
void for_each_golden_order(Visit visit) {
  const auto expected = golden_json("expected.json");
  const auto index = golden_json("index.json");
  ASSERT_EQ(expected.size(), 148U);
  for (const auto& [file, values] : expected.items()) {
    SCOPED_TRACE(file);
    visit(golden_order(file, placement_named(index.at(file).at("placement"))), values);
  }
}

// makespan = last end; idle = makespan - busy; idle within span = last end - first start - busy, per rank. An idle
// time within the span is not recorded for pair2.
TEST(ExpectedTiming, MakespanAndIdleOfEveryGoldenOrder) {
  std::size_t compared = 0;
  for_each_golden_order([&](const workloads::PipelineOrder& order, const nlohmann::json& values) {
    for (const auto& [name, times] : cases()) {
      if (!values.contains(name)) {
        EXPECT_EQ(name, "unit_c0_pair2");
        continue;
      }
      SCOPED_TRACE(name);
      ++compared;
      const auto timing = time_order(order, times);
      const auto near = [](const nlohmann::json& list) {
        return testing::Pointwise(testing::DoubleNear(tolerance), list.get<std::vector<double>>());
      };
      EXPECT_NEAR(timing.makespan, values.at(name).at("makespan").get<double>(), tolerance);
      EXPECT_THAT(timing.bubble_step, near(values.at(name).at("idle")));
      if (values.at(name).contains("idle_within_span")) {
        EXPECT_THAT(timing.bubble_span, near(values.at(name).at("idle_within_span")));
      } else {
        EXPECT_EQ(name, "unit_c0_pair2");
      }
    }
  });
  EXPECT_EQ(compared, 148U * 4 + 19);  // 19 of the orders have pairs
}

// A chunk's microbatch is held from its forward to its input gradient, or to its weight gradient.
TEST(ExpectedTiming, HeldMicrobatchesOfEveryGoldenOrder) {
  for_each_golden_order([&](const workloads::PipelineOrder& order, const nlohmann::json& values) {
    const auto held = held_activations(order);
    EXPECT_EQ(held.until_input_gradient, values.at("peak_until_I").get<std::vector<std::int32_t>>());
    EXPECT_EQ(held.until_weight_gradient, values.at("peak_until_W").get<std::vector<std::int32_t>>());
  });
}

}  // namespace
}  // namespace lockstep
