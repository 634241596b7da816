// Every schedule in the full step, held to its order, to the model it cuts up, and to the rules of every timeline.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sim/program/lower.hpp"
#include "tests/property/pipeline_grid.hpp"
#include "tests/property/pipeline_properties.hpp"
#include "tests/property/step_properties.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep {
namespace {

using test::PipelineRow;
using test::SimulatedStep;

class EveryPipeline : public testing::TestWithParam<PipelineRow> {};

TEST_P(EveryPipeline, KeepsTheRules) {
  for (const auto& one : GetParam().cases) {
    SCOPED_TRACE(one.to_string());
    const SimulatedStep step(one.load());
    test::expect_dependencies_meet(step);
    if (HasFailure()) return;
    test::expect_time_adds_up(step);
    test::expect_dependencies_hold(step);
    test::expect_streams_do_one_thing(step);
    test::expect_not_faster_than_possible(step);
    test::expect_every_pass_once(step);
    test::expect_schedules_order(step);
    test::expect_sends(step);
    test::expect_held_weights(step);
    test::expect_idle_adds_up(step);
    test::expect_critical_path_explains(step);
    test::expect_memory_returns(step);
    test::expect_folding_is_exact(step);
    if (HasFailure()) return;  // one broken step says enough
  }
}

INSTANTIATE_TEST_SUITE_P(Grid, EveryPipeline, testing::ValuesIn(test::pipeline_grid()),
                         [](const auto& row) { return row.param.name; });

// All schedules are there, each on pipelines of at least three sizes (DualPipe takes even ones only).
TEST(PipelineGrid, HasEverySchedule) {
  const auto all = workloads::schedules();
  ASSERT_EQ(std::ssize(test::pipeline_grid()),
            std::count_if(all.begin(), all.end(), [](const workloads::Schedule& one) { return !one.takes_slices; }));
  std::size_t steps = 0;
  for (const auto& row : test::pipeline_grid()) {
    EXPECT_GE(row.cases.size(), 3U) << row.schedule;
    steps += row.cases.size();
  }
  EXPECT_GE(steps, 200U);
}

// Sends between neighbours on links of their own: span by span, flows take what the closed forms say. And then one rank
// of each stage is enough: the program that has no others ends at the same time.
TEST(LonePipelines, FlowsTakeTheClosedForms) {
  for (const auto& one : test::lone_pipelines()) {
    SCOPED_TRACE(one.to_string());
    const SimulatedStep step(one.load());
    const double makespan = step.reference.makespan().value();
    for (std::int32_t op = 0; op < step.reference.ops(); ++op) {
      for (std::int32_t rank = 0; rank < step.reference.ranks(); ++rank) {
        if (!step.reference.took_part(op, rank)) continue;
        ASSERT_NEAR(step.simgrid.span(op, rank).start.value(), step.reference.span(op, rank).start.value(),
                    1e-9 * makespan)
            << op;
        ASSERT_NEAR(step.simgrid.span(op, rank).end.value(), step.reference.span(op, rank).end.value(), 1e-9 * makespan)
            << op;
      }
    }
  }
  EXPECT_GE(test::lone_pipelines().size(), 50U);
}

TEST(OneRankPerStage, EndsWithAllOfThem) {
  for (const auto& row : test::pipeline_grid()) {
    const auto& one = row.cases.back();
    SCOPED_TRACE(one.to_string());
    const auto scenario = one.load();
    const auto preparation = preparation::prepare_step(scenario);
    const auto whole =
        lower(preparation.step, *preparation.machine.collectives, preparation::rates_of(scenario), scenario.lower);
    const auto few = lower_one_rank_per_stage(preparation.step, *preparation.machine.collectives,
                                              preparation::rates_of(scenario), scenario.lower);
    const double makespan = test::timeline_of(whole, engine::EngineKind::reference).makespan().value();
    EXPECT_NEAR(test::timeline_of(few, engine::EngineKind::reference).makespan().value() / makespan, 1, 1e-9);
  }
}

}  // namespace
}  // namespace lockstep
