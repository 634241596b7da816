// Closed forms against the simulated orders: max over ranks of the bubble, and of the activations held.
#include "workloads/pipeline/schedules/closed_form.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep {
namespace {

constexpr double tolerance = 1e-9;

double most(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

/// Bubble that the form speaks of, on the worst rank.
double simulated(const workloads::ScheduleRequest& request, workloads::ClosedForm::Of of) {
  const auto timing = time_order(make_order(request), request.times);
  return most(of == workloads::ClosedForm::Of::step ? timing.bubble_step : timing.bubble_span);
}

double simulated_activations(const workloads::ScheduleRequest& request) {
  const auto order = make_order(request);
  const auto held = held_activations(order).until_weight_gradient;
  return static_cast<double>(*std::max_element(held.begin(), held.end())) / order.shape.chunks / order.shape.slices;
}

bool can_be_had(const workloads::ScheduleRequest& request) {
  try {
    return make_order(request).cells() > 0;
  } catch (const workloads::ScheduleError&) {
    return false;  // this P, M, V is against the schedule's rules
  }
}

std::string text_of(const workloads::ScheduleRequest& r) {
  const auto& t = r.times.stages[0];
  return r.name + " P" + std::to_string(r.ranks) + " M" + std::to_string(r.microbatches) + " V" +
         std::to_string(r.chunks.value_or(0)) + " n" + std::to_string(r.slices) + " N" +
         std::to_string(r.group.value_or(0)) + " F" + std::to_string(t.forward) + " I" +
         std::to_string(t.input_gradient) + " W" + std::to_string(t.weight_gradient) + " c" +
         std::to_string(r.times.latency) + " pair " + std::to_string(r.times.pair.value_or(0));
}

workloads::ScheduleRequest request_of(const std::string& name, std::int32_t ranks, std::int32_t microbatches,
                                      workloads::StageTimes times = {}) {
  workloads::ScheduleRequest request;
  request.name = name;
  request.ranks = ranks;
  request.microbatches = microbatches;
  request.times.stages = {times};
  return request;
}

constexpr workloads::StageTimes grid_times[] = {{1, 1, 1},     {1, 1, 0.5},     {1, 1.2, 0.8}, {1, 2, 1}, {2, 1, 1},
                                                {1, 0.7, 1.3}, {0.8, 0.8, 0.8}, {1, 1.5, 1.2}, {3, 4, 0}, {1, 1, 1.2}};

/// Every P, M, V, N, times that a schedule may meet, legal or not.
std::vector<workloads::ScheduleRequest> grid_of(const workloads::Schedule& schedule) {
  std::vector<workloads::ScheduleRequest> grid;
  const bool loops = schedule.placement == workloads::StagePlacement::loop;
  const bool groups = schedule.name == "interleaved" || schedule.name == "overlap-1f1b";
  for (const std::int32_t ranks : {1, 2, 3, 4, 6, 8}) {
    for (const std::int32_t microbatches : {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 18, 24}) {
      for (const std::int32_t chunks : {1, 2, 3, 4}) {
        if (!loops && chunks != schedule.usual_chunks) continue;
        for (const std::int32_t group : {0, 2 * ranks, 3 * ranks}) {
          if (group > 0 && !groups) continue;
          for (const auto& times : grid_times) {
            auto request = request_of(std::string(schedule.name), ranks, microbatches, times);
            if (loops) request.chunks = chunks;
            if (group > 0) request.group = group;
            grid.push_back(request);
            for (const std::int32_t slices : {2, 3, 4, 8}) {
              if (!schedule.takes_slices) break;
              request.slices = slices;
              request.times.slices = workloads::even_slices(slices);
              grid.push_back(request);
            }
            for (const double part : {0.7, 0.9, 1.2}) {
              if (!schedule.overlaps) break;
              request.times.pair = part * (times.forward + times.input_gradient + times.weight_gradient);
              grid.push_back(request);
            }
            if (!schedule.chooses_by_time) continue;
            for (const double limit : {1.0, 2.0, 2.5}) {
              request.memory_limit = {limit * ranks};
              grid.push_back(request);
            }
          }
        }
      }
    }
  }
  return grid;
}

/// Names of the schedules whose bubble the literature gives.
std::vector<std::string> schedules_with_a_form() {
  std::vector<std::string> names;
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    if (schedule.closed_form != nullptr) names.emplace_back(schedule.name);
  }
  return names;
}

class EverySchedule : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] std::vector<workloads::ScheduleRequest> grid() const {
    return grid_of(*workloads::find_schedule(GetParam()));
  }
};

// value = max over ranks of (makespan - busy), or of the span's bubble, wherever the form says that it applies.
TEST_P(EverySchedule, BubbleIsTheSimulatedOneWhereTheFormApplies) {
  int compared = 0;
  for (const auto& request : grid()) {
    const auto form = closed_form(request);
    if (!form || !form->applies || !can_be_had(request)) continue;
    ++compared;
    ASSERT_NEAR(form->value, simulated(request, form->of), tolerance) << text_of(request) << ": " << form->expression;
  }
  EXPECT_GE(compared, 5);
}

TEST_P(EverySchedule, PeakOfActivationsIsTheSimulatedOne) {
  int compared = 0;
  for (const auto& request : grid()) {
    const auto form = closed_form(request);
    if (!form || !form->activations || !form->applies || !can_be_had(request)) continue;
    ++compared;
    const double held = simulated_activations(request);
    ASSERT_NEAR(held, *form->activations, tolerance) << text_of(request);
  }
  const auto form = closed_form(request_of(GetParam(), 4, 8));
  EXPECT_GE(compared, form && form->activations ? 5 : 0);
}

// bubble(c) - bubble(0) = latency_value wherever the form gives one.
TEST_P(EverySchedule, LatencyAddsItsTerm) {
  int compared = 0;
  bool has_form = false;
  for (auto request : grid()) {
    for (const double latency : {0.01, 0.1, 0.25, 0.5, 1.0, 2.5}) {
      request.times.latency = latency;
      const auto form = closed_form(request);
      if (!form || form->latency_expression.empty()) continue;
      has_form = true;
      if (!form->latency_value || !form->applies || !can_be_had(request)) continue;
      ++compared;
      ASSERT_NEAR(form->value + *form->latency_value, simulated(request, form->of), tolerance)
          << text_of(request) << ": " << form->latency_expression;
    }
  }
  EXPECT_GE(compared, has_form ? 20 : 0);
}

/// Simulated bubble less the form's where a condition is broken, which the form must say.
double error_outside(const workloads::ScheduleRequest& request) {
  const auto form = closed_form(request).value();
  EXPECT_FALSE(form.applies) << text_of(request);
  return simulated(request, form.of) - form.value;
}

// F = 1, I = 2, W = 1, so B = 3 and F&B = 4: the form says 3 (4 + 3 - 3) = 12; an inner rank waits for I of the
// microbatches that come from the other end, and the simulated order idles 11.
TEST(ClosedFormConditions, DualPipeNeedsForwardEqualToInputGradient) {
  EXPECT_NEAR(error_outside(request_of("dualpipe", 8, 16, {1, 2, 1})), -1, tolerance);
  EXPECT_GT(error_outside(request_of("dualpipe", 8, 16, {1, 1, 1.2})), 0.1);  // W > F
  EXPECT_GT(error_outside(request_of("dualpipe-v", 8, 16, {1, 0.7, 1.3})), 0.1);
}

// (P/2-1)(F&B + F - 2W) with F 1, I 1.2, W 0.8, F&B 3: 1 (3 + 1 - 1.6) = 2.4 at P = 4, where F may differ from I.
TEST(ClosedFormConditions, DualPipeOnFourRanksLetsForwardDiffer) {
  const auto request = request_of("dualpipe", 4, 8, {1, 1.2, 0.8});
  const auto form = closed_form(request).value();
  EXPECT_TRUE(form.applies);
  EXPECT_NEAR(form.value, 2.4, tolerance);
  EXPECT_NEAR(simulated(request, form.of), 2.4, tolerance);
}

// A pair faster than its halves one after the other: (P/2-1)(F&B + B - 3W) = 3 (2.1 + 2 - 3) = 3.3.
TEST(ClosedFormConditions, DualPipePairCounts) {
  auto request = request_of("dualpipe", 8, 16);
  request.times.pair = 2.1;
  EXPECT_NEAR(closed_form(request)->value, 3.3, tolerance);
  EXPECT_NEAR(simulated(request, workloads::ClosedForm::Of::step), 3.3, tolerance);
  request.times.pair = 1.5;  // shorter than B alone
  EXPECT_FALSE(closed_form(request)->applies);
}

// Weight gradients longer than F or I no longer fit into the gaps that they fill.
TEST(ClosedFormConditions, ZeroBubbleNeedsShortWeightGradients) {
  for (const std::string name : {"zb-h1", "zb-1p", "interleaved-zb", "zb-h2"}) {
    EXPECT_GT(error_outside(request_of(name, 4, 8, {1, 0.7, 1.3})), 0.1) << name;  // W > I
    EXPECT_GT(error_outside(request_of(name, 4, 8, {1, 1.5, 1.2})), 0.1) << name;  // W > F
  }
}

// A V's span has no gap only at F = I = W; fewer than 2P - 1 microbatches do not fill it.
TEST(ClosedFormConditions, VShapesNeedEqualTimesAndEnoughMicrobatches) {
  EXPECT_GT(error_outside(request_of("zb-v", 4, 8, {1, 2, 1})), 0.1);
  EXPECT_GT(error_outside(request_of("zb-v", 4, 4)), 0.1);
  EXPECT_GT(error_outside(request_of("zb-h2", 4, 4)), 0.1);
  EXPECT_GT(error_outside(request_of("v-half", 4, 8, {1, 1.2, 0.8})), 0.1);
  EXPECT_GT(error_outside(request_of("v-min", 4, 8, {1, 1.2, 0.8})), 0.1);
}

// Pairs stand in the steady state, where all ranks gain the same from them: the bubble stays (P-1)(F+B)/V. A pair
// longer than its halves one after the other, or shorter than B = 2, lets ranks wait.
TEST(ClosedFormConditions, OverlapNeedsPairsBetweenTheirLongerHalfAndBoth) {
  auto request = request_of("overlap-1f1b", 4, 8);
  for (const double pair : {1.0, 3.3}) {
    request.times.pair = pair;
    EXPECT_GT(error_outside(request), 0.1) << pair;
  }
}

// With a last stage of 1.3 the others wait for it: no form.
TEST(ClosedFormConditions, StagesMustBeAlike) {
  auto request = request_of("1f1b", 4, 8);
  request.times.stages = {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1.3, 1.3, 1.3}};
  EXPECT_GT(std::abs(error_outside(request)), 0.1);
}

// Slices of 1, 3, 5 and 7 sixteenths of the attention wait for each other.
TEST(ClosedFormConditions, SlicesMustBeAlike) {
  auto request = request_of("seq1f1b", 4, 8);
  request.slices = 4;
  request.times.slices = {1.0 / 16, 3.0 / 16, 5.0 / 16, 7.0 / 16};
  EXPECT_GT(error_outside(request), 0.1);
}

// A latency for which there is no form makes a value without it wrong.
TEST(ClosedFormConditions, LatencyWithoutAFormBreaksIt) {
  auto request = request_of("dualpipe", 8, 16);
  request.times.latency = 0.1;
  EXPECT_GT(error_outside(request), 0.1);
  request = request_of("1f1b", 4, 6);  // P does not divide M
  request.times.latency = 0.1;
  EXPECT_GT(error_outside(request), 0.1);
}

TEST(ClosedForm, SaysWhatBMeansAndIsAbsentWhereTheLiteratureHasNone) {
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    const auto form = closed_form(request_of(std::string(schedule.name), 4, 8));
    if (form) {
      EXPECT_NE(form->symbols.find("B = I + W"), std::string::npos) << schedule.name;
    } else {
      EXPECT_TRUE(schedule.name == "wave" || schedule.name == "v-1f1b" || schedule.designs) << schedule.name;
    }
  }
  EXPECT_FALSE(closed_form(request_of("", 4, 8)));
}

INSTANTIATE_TEST_SUITE_P(Forms, EverySchedule, testing::ValuesIn(schedules_with_a_form()), [](const auto& schedule) {
  auto name = schedule.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace lockstep
