// Folded in time = whole on machines and work that are not alike everywhere. The steps of irregular_steps.hpp are made
// eight times as long, so that they have a middle that may repeat. Then the operation with number n in the whole step
// is a simulated operation o in a copy c of the period, with span(n) = span(o) + c x period on every rank class, to
// 1e-12 of the step for each rounding that a period adds up. Where kernels and collectives slow each other down, it is
// the same to 5e-7 of the step, as our engines and SimGrid are.
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <cmath>

#include "sim/core/errors.hpp"
#include "sim/timing/timed_step.hpp"
#include "sim/timing/whole_step.hpp"
#include "tests/property/irregular_steps.hpp"
#include "tests/source_dir.hpp"

namespace lockstep {
namespace {

constexpr int steps_of_a_part = 30, parts = 10, longer = 8;

scenario::Scenario longer_scenario(const test::IrregularStep& step) {
  auto scenario = scenario::scenario_of_text(step.text, "random scenario", source_dir);
  scenario.batch.sequences *= longer;
  scenario.batch.microbatches *= longer;
  return scenario;
}

timing::TimedStep timed(const scenario::Scenario& scenario, const preparation::Preparation& prepared) {
  spdlog::logger silent("test");
  return timing::timed_step(scenario, prepared, prepared.model.layers, step_options(scenario, prepared.model),
                            {{engine::EngineKind::max_min, {}, false}}, silent);
}

timeline::Timeline whole_of(const scenario::Scenario& scenario, const preparation::PreparedStep& prepared) {
  spdlog::logger silent("test");
  const auto folded = fold(lower_with_perturbations(scenario, prepared));
  return engine::run(folded.program, {engine::EngineKind::max_min, {}, false}, silent).timeline;
}

/// The most that a start or an end of an operation of the whole step differs from that of the one that stands for it.
double furthest_apart_s(const timing::WholeStep& numbered, const timeline::Timeline& folded,
                        const timeline::Timeline& whole) {
  double most_s = 0;
  for (std::int32_t number = 0; number < whole.ops(); ++number) {
    const auto& [op, copy] = numbered.runs()[static_cast<std::size_t>(number)];
    EXPECT_TRUE(std::ranges::equal(folded.ranks_of(op), whole.ranks_of(number))) << number;
    for (const auto rank : whole.ranks_of(number)) {
      const auto span = folded.span(op, rank, copy), expected = whole.span(number, rank);
      most_s = std::max(
          {most_s, std::abs((span.start - expected.start).value()), std::abs((span.end - expected.end).value())});
    }
  }
  return most_s;
}

class IrregularInTime : public testing::TestWithParam<int> {};

TEST_P(IrregularInTime, IsTheWhole) {
  int repeated = 0;
  for (int number = GetParam() * steps_of_a_part; number < (GetParam() + 1) * steps_of_a_part; ++number) {
    const auto step = test::irregular_step(number);
    SCOPED_TRACE("step " + std::to_string(number) + "\n" + step.text);
    const auto scenario = longer_scenario(step);
    const auto prepared = preparation::prepare_step(scenario);
    const auto folded = timed(scenario, prepared);
    const auto& timeline = folded.run.timeline;
    if (timeline.repetition().copies == 0) continue;
    ++repeated;
    const auto whole = whole_of(scenario, prepared);
    const timing::WholeStep numbered(prepared.pipeline.order, folded.step, timeline);
    ASSERT_EQ(std::ssize(numbered.runs()), whole.ops());
    ASSERT_EQ(timeline.ranks(), whole.ranks());
    const double most = scenario.time_model == cost::TimeModel::calibrated ? 5e-7 : 1e-12;
    EXPECT_LE(furthest_apart_s(numbered, timeline, whole), most * whole.makespan().value());
  }
  EXPECT_GE(repeated, 4) << "too few steps that repeat";
}

INSTANTIATE_TEST_SUITE_P(Part, IrregularInTime, testing::Range(0, parts));

}  // namespace
}  // namespace lockstep
