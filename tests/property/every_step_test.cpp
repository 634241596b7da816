// All properties of all steps of the grid; and that the grid is what it says.
#include <gtest/gtest.h>

#include <set>

#include "tests/property/scenario_grid.hpp"
#include "tests/property/step_properties.hpp"

namespace lockstep {
namespace {

using test::GridRow;
using test::SimulatedStep;

class EveryStep : public testing::TestWithParam<GridRow> {};

TEST_P(EveryStep, KeepsTheRules) {
  for (const auto& one : GetParam().cases) {
    SCOPED_TRACE(one.to_string());
    const SimulatedStep step(one.load());
    test::expect_time_adds_up(step);
    test::expect_dependencies_hold(step);
    test::expect_streams_do_one_thing(step);
    test::expect_not_faster_than_possible(step);
    test::expect_compute_is_the_models(step);
    test::expect_contention_only_slows(step);
    test::expect_critical_path_explains(step);
    if (HasFailure()) return;  // one broken step says enough
  }
}

TEST_P(EveryStep, IsTheSameThroughTheFacade) {
  for (std::size_t i = 0; i < GetParam().cases.size(); i += 3) {
    SCOPED_TRACE(GetParam().cases[i].to_string());
    test::expect_facade_agrees(SimulatedStep(GetParam().cases[i].load()));
    if (HasFailure()) return;
  }
}

TEST_P(EveryStep, IsTheSameTwice) {
  const auto& one = GetParam().cases.back();
  SCOPED_TRACE(one.to_string());
  const SimulatedStep first(one.load());
  const SimulatedStep second(one.load());
  for (std::int32_t op = 0; op < first.simgrid.ops(); ++op) {
    for (std::int32_t rank = 0; rank < first.simgrid.ranks(); ++rank) {
      ASSERT_EQ(first.simgrid.span(op, rank), second.simgrid.span(op, rank)) << "op " << op << " rank " << rank;
      ASSERT_EQ(first.reference.span(op, rank), second.reference.span(op, rank)) << "op " << op << " rank " << rank;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Grid, EveryStep, testing::ValuesIn(test::grid()),
                         [](const auto& row) { return row.param.name; });

// The settings are dealt out so that every value of every key occurs in some case of the larger tori.
TEST(GridOfSteps, DealsOutEverySetting) {
  for (const auto& row : test::grid()) {
    if (row.cases.size() < 60) continue;
    std::set<std::string> seen;
    for (const auto& one : row.cases) {
      for (const auto& [path, value] : one.overrides) seen.insert(path + "=" + value);
    }
    for (const char* wanted :
         {"batch.microbatches=1", "batch.microbatches=2", "batch.microbatches=3", "communication.prefetch=0",
          "communication.prefetch=1", "communication.prefetch=2", "communication.gradient_buckets=layer",
          "communication.gradient_buckets=matrix", "communication.gradient_buckets=40 MB",
          "communication.weight_buckets=matrix", "communication.collective_matmul=true",
          "communication.collective_matmul=false", "training.optimizer_barrier=true",
          "training.optimizer_barrier=false", "communication.regather_weights=false",
          "communication.share_activation_gathers=false", "model_of_time=ideal", "model_of_time=roofline"}) {
      EXPECT_TRUE(seen.contains(wanted)) << row.name << " lacks " << wanted;
    }
  }
}

}  // namespace
}  // namespace lockstep
