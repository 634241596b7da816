// Branch and bound against the simulation of every plan.
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "sim/studies/isolated.hpp"
#include "tests/property/plan_spaces.hpp"
#include "tests/source_dir.hpp"

namespace lockstep {
namespace {

constexpr std::size_t shown = 3;

std::vector<planning::PlanChoice> every_plan(const planning::PlanSpace& space) {
  std::vector<planning::PlanChoice> plans;
  for (const auto& node : space.nodes()) {
    const auto more = space.plans_of(node);
    plans.insert(plans.end(), more.begin(), more.end());
  }
  return plans;
}

class PlanSearchTest : public testing::TestWithParam<test::SpaceCase> {};

TEST_P(PlanSearchTest, FindsWhatSimulatingEveryPlanFinds) {
  spdlog::logger silent("test");
  const planning::PlanSpace space(GetParam().load());
  auto all = test::all_simulated(space, every_plan(space));
  EXPECT_EQ(space.size(), std::ssize(all));
  const auto fitting = std::count_if(
      all.begin(), all.end(), [&](const auto& plan) { return plan.figures.peak_bytes <= space.memory().value(); });
  std::erase_if(all, [&](const auto& plan) { return plan.figures.peak_bytes > space.memory().value(); });
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::pair{planning::compared_time(a.figures.step_s), a.choice} <
           std::pair{planning::compared_time(b.figures.step_s), b.choice};
  });

  const auto result = search_plans(space, {shown, 2, engine::EngineKind::simgrid}, silent);
  ASSERT_EQ(result.best.size(), std::min(shown, all.size()));
  for (std::size_t i = 0; i < result.best.size(); ++i) {
    EXPECT_EQ(result.best[i].choice, all[i].choice);
    EXPECT_EQ(result.best[i].figures.step_s, all[i].figures.step_s);
  }
  const auto& proof = result.proof;
  EXPECT_EQ(proof.space, proof.pruned_by_bound + proof.pruned_by_memory + proof.simulated);
  EXPECT_LE(proof.pruned_by_memory + proof.did_not_fit,
            proof.space - fitting);  // nothing that fits is called too large
}

INSTANTIATE_TEST_SUITE_P(Spaces, PlanSearchTest, testing::ValuesIn(test::small_spaces()), test::name_of_space);

// LLaMA-3 70B with 4.6 million tokens on a v5p pod. Closed forms balance both axes at X_opt = sqrt(B / F x N) =
// sqrt(4587520 / 28672 x 8960) = 1197 for equal hardware axes; the book, with two of three axes for FSDP, takes 2048
// x 4. On a pod that is FSDP 2240 x tensor 4, and the four of a tensor group lie on a 2x2 block, whose ring has
// neighbours only.
TEST(PlanSearchTest, Llama3On8960ChipsIsTensor4) {
  spdlog::logger silent("test");
  auto scenario = scenario::load_scenario(std::filesystem::path(source_dir) / "scenarios/llama3-70b-v5p.yaml");
  scenario.search.pipeline = {1};
  const planning::PlanSpace space(scenario);
  const auto result = search_plans(space, {1, 2, engine::EngineKind::simgrid}, silent);
  ASSERT_EQ(result.best.size(), 1u);
  const auto& best = result.best.front().choice;
  EXPECT_EQ(best.degrees, (planning::Degrees{4, 1, 1, 2240, 1}));
  EXPECT_EQ(best.zero, 3);
  for (const auto& factor : space.node_of(best).placements[static_cast<std::size_t>(best.placement)].front().factors)
    EXPECT_EQ(factor.size, 2);
}

// What a plan writes into a scenario file makes the step that the search simulated.
TEST(PlanSearchTest, TheKeysOfAPlanMakeItsStep) {
  spdlog::logger silent("test");
  const auto file = std::filesystem::temp_directory_path() / "lockstep_plan_keys.yaml";
  for (const auto& made : test::wide_spaces()) {
    std::ofstream(file) << "format: 1\n" << made.text;
    const planning::PlanSpace space(scenario::load_scenario(file));
    for (const std::size_t which : {std::size_t{0}, space.nodes().size() / 2, space.nodes().size() - 1}) {
      const auto plan = test::all_simulated(space, {space.plans_of(space.nodes()[which]).back()}).front();
      const auto outcome = studies::simulate_isolated(
          load_scenario(file, space.keys(space.nodes()[which], plan.choice)), engine::EngineKind::simgrid, silent);
      EXPECT_EQ(outcome.step_s, plan.figures.step_s) << made.name;
      EXPECT_EQ(outcome.peak_bytes, plan.figures.peak_bytes) << made.name;
      EXPECT_NEAR(outcome.mfu, plan.figures.mfu, 1e-12) << made.name;
    }
  }
  std::filesystem::remove(file);
}

// The same answer and the same proof however many simulations run at a time.
TEST(PlanSearchTest, DoesNotDependOnTheNumberOfJobs) {
  spdlog::logger silent("test");
  const planning::PlanSpace space(test::wide_spaces().front().load());
  const auto one = search_plans(space, {shown, 1, engine::EngineKind::simgrid}, silent);
  const auto many = search_plans(space, {shown, 7, engine::EngineKind::simgrid}, silent);
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
