// Branch and bound against the simulation of every plan.
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <tuple>

#include "tests/property/plan_spaces.hpp"

namespace lockstep {
namespace {

constexpr std::size_t shown = 3;

std::vector<PlanChoice> every_plan(const PlanSpace& space) {
  std::vector<PlanChoice> plans;
  for (const auto& node : space.nodes()) {
    const auto more = space.plans_of(node);
    plans.insert(plans.end(), more.begin(), more.end());
  }
  return plans;
}

class PlanSearchTest : public testing::TestWithParam<test::SpaceCase> {};

TEST_P(PlanSearchTest, FindsWhatSimulatingEveryPlanFinds) {
  spdlog::logger silent("test");
  const PlanSpace space(GetParam().load());
  auto all = test::all_simulated(space, every_plan(space));
  EXPECT_EQ(space.size(), std::ssize(all));
  const auto fitting = std::count_if(all.begin(), all.end(), [&](const auto& plan) { return plan.figures.peak_bytes <= space.memory().value(); });
  std::erase_if(all, [&](const auto& plan) { return plan.figures.peak_bytes > space.memory().value(); });
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return std::tie(a.figures.step_s, a.choice) < std::tie(b.figures.step_s, b.choice); });

  const auto result = search_plans(space, {shown, 2, EngineKind::simgrid, {}}, silent);
  ASSERT_EQ(result.best.size(), std::min(shown, all.size()));
  for (std::size_t i = 0; i < result.best.size(); ++i) {
    EXPECT_EQ(result.best[i].choice, all[i].choice);
    EXPECT_EQ(result.best[i].figures.step_s, all[i].figures.step_s);
  }
  const auto& proof = result.proof;
  EXPECT_EQ(proof.space, proof.pruned_by_bound + proof.pruned_by_memory + proof.simulated);
  EXPECT_LE(proof.pruned_by_memory + proof.did_not_fit, proof.space - fitting);  // nothing that fits is called too large
}

INSTANTIATE_TEST_SUITE_P(Spaces, PlanSearchTest, testing::ValuesIn(test::small_spaces()));

// The same answer and the same proof however many simulations run at a time.
TEST(PlanSearchTest, DoesNotDependOnTheNumberOfJobs) {
  spdlog::logger silent("test");
  const PlanSpace space(test::wide_spaces().front().load());
  const auto one = search_plans(space, {shown, 1, EngineKind::simgrid, {}}, silent);
  const auto many = search_plans(space, {shown, 7, EngineKind::simgrid, {}}, silent);
  ASSERT_EQ(one.best.size(), shown);
  for (std::size_t i = 0; i < shown; ++i) {
    EXPECT_EQ(one.best[i].choice, many.best[i].choice);
    EXPECT_EQ(one.best[i].figures.step_s, many.best[i].figures.step_s);
  }
  EXPECT_EQ(one.proof.simulated, many.proof.simulated);
  EXPECT_EQ(one.proof.pruned_by_bound, many.proof.pruned_by_bound);
  EXPECT_EQ(one.proof.pruned_by_memory, many.proof.pruned_by_memory);
  EXPECT_EQ(one.proof.did_not_fit, many.proof.did_not_fit);
}

}  // namespace
}  // namespace lockstep
