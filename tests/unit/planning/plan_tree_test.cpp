// The tree of a space: every plan below one branch of each level, and those too large for the memory counted.
#include "sim/studies/planning/plan_tree.hpp"

#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <set>

#include "sim/studies/planning/plan_simulator.hpp"
#include "tests/unit/planning/small_space.hpp"

namespace lockstep::test {
namespace {

const SmallSpace small{.cluster = "tpu-v5p:4x2",
                       .search =
                           "tensor: [1, 2], pipeline: [1, 2], zero: [0, 1, 3], recompute: [none, full], "
                           "microbatches: [1, 2], schedules: [1f1b, gpipe, zb-h1]",
                       .more = "model_of_time: roofline\n"};

planning::PlanBranch branch(double bound_s, std::int32_t zero, planning::PlanBranch::Level level) {
  planning::PlanBranch made;
  made.bound_s = bound_s;
  made.choice.zero = zero;
  made.level = level;
  return made;
}

TEST(PlanBranchTest, TheLowerBoundGoesFirstThenCanonicalOrder) {
  using enum planning::PlanBranch::Level;
  const auto low = branch(1, 3, plan), high = branch(2, 0, degrees), tie = branch(1, 2, plan);
  EXPECT_TRUE(goes_first(low, high));
  EXPECT_FALSE(goes_first(high, low));
  EXPECT_TRUE(goes_first(tie, low));
  EXPECT_FALSE(goes_first(low, tie));
  EXPECT_FALSE(goes_first(low, low));
  EXPECT_TRUE(goes_first(branch(1, 0, degrees), branch(1, 0, tokens)));  // a set before its first
}

TEST(PlanTreeTest, EveryPlanIsBelowOneBranchOfEachLevel) {
  const planning::PlanSpace space(small.load());
  planning::PlanTree tree(space);
  for (std::int32_t node = 0; node < std::ssize(space.nodes()); ++node) {
    std::vector<planning::PlanBranch> branches{tree.root(node)};
    EXPECT_EQ(branches.front().plans, space.nodes()[static_cast<std::size_t>(node)].plans);
    for (const auto level : {planning::PlanBranch::Level::tokens, planning::PlanBranch::Level::step,
                             planning::PlanBranch::Level::cost_class, planning::PlanBranch::Level::plan}) {
      std::vector<planning::PlanBranch> next;
      for (const auto& above : branches) {
        std::int64_t plans = 0;
        const auto below = tree.below(above);
        EXPECT_EQ(below.too_large, 0);
        for (const auto& one : below.branches) {
          EXPECT_EQ(one.level, level);
          EXPECT_EQ(one.node, node);
          EXPECT_GE(one.bound_s, above.bound_s);
          plans += one.plans;
          next.push_back(one);
        }
        EXPECT_EQ(plans, above.plans);
      }
      branches = std::move(next);
    }
    // At the end, single plans: those of the node.
    std::vector<planning::PlanChoice> found;
    for (const auto& plan : branches) {
      EXPECT_TRUE(tree.below(plan).branches.empty());
      found.push_back(plan.choice);
    }
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, space.plans_of(space.nodes()[static_cast<std::size_t>(node)]));
  }
}

// A plan's branches have the bounds that each has by itself, or that of the branch above if that is higher.
TEST(PlanTreeTest, BranchesHaveTheBoundsOfTheirPlans) {
  const planning::PlanSpace space(small.load());
  planning::PlanTree tree(space);
  constexpr double rounding = 1 - 1e-9;
  for (std::int32_t node = 0; node < std::ssize(space.nodes()); ++node) {
    const auto plan = space.plans_of(space.nodes()[static_cast<std::size_t>(node)]).front();
    const auto bounds = tree.bounds_of(plan);
    ASSERT_EQ(bounds.size(), 5u);
    auto above = tree.root(node);
    EXPECT_EQ(above.bound_s, bounds[0].seconds);
    for (std::size_t level = 1; level < bounds.size(); ++level) {
      const auto below = tree.below(above).branches;
      const auto own = std::find_if(below.begin(), below.end(), [&](const planning::PlanBranch& one) {
        return one.choice.recompute == plan.recompute && one.choice.microbatches == plan.microbatches &&
               (level < 2 || one.choice.zero == plan.zero) && (level < 3 || one.choice.placement == plan.placement) &&
               (level < 3 || one.choice.schedule == plan.schedule);
      });
      ASSERT_NE(own, below.end());
      EXPECT_EQ(own->bound_s, std::max(above.bound_s, bounds[level].seconds * rounding)) << level;
      above = *own;
    }
  }
}

// Weights and optimizer state alone, 10 bytes for each of 8 x 2 D F = 262,144 parameters, are 2.6 MB: in 1 MB fits no
// plan that splits neither, and none of an unsplit chip.
TEST(PlanTreeTest, CountsPlansThatAreTooLarge) {
  const SmallSpace whole{
      .cluster = "tpu-v5p:4",
      .search = "tensor: 1, pipeline: 1, zero: [0, 3], recompute: none, microbatches: [1, 2], memory: 1 MB"};
  const planning::PlanSpace space(whole.load());
  planning::PlanTree tree(space);
  std::int64_t large = 0, left = 0;
  const auto tokens = tree.below(tree.root(0));
  large += tokens.too_large;
  for (const auto& each : tokens.branches) {
    const auto steps = tree.below(each);
    large += steps.too_large;
    for (const auto& one : steps.branches) {
      EXPECT_EQ(one.choice.zero, 3);  // a quarter each
      left += one.plans;
    }
  }
  EXPECT_EQ(large, 2);  // ZeRO 0 with either number of microbatches
  EXPECT_EQ(left, 2);
  auto nothing = whole.load();
  nothing.search.memory = Bytes(1000);
  const planning::PlanSpace tiny(nothing);
  planning::PlanTree bare(tiny);
  EXPECT_EQ(bare.below(bare.root(0)).too_large, tiny.size());
  EXPECT_TRUE(bare.below(bare.root(0)).branches.empty());
}

TEST(PlanTreeTest, CountsTheBoundsItComputes) {
  const planning::PlanSpace space(small.load());
  planning::PlanTree tree(space);
  EXPECT_EQ(tree.bounds(), 0);
  const auto root = tree.root(0);
  EXPECT_EQ(tree.bounds(), 1);
  EXPECT_EQ(tree.below(root).branches.size(), 4u);  // 2 numbers of microbatches x 2 recomputations
  EXPECT_EQ(tree.bounds(), 5);
}

// One chip has nobody to wait for. On an ideal chip a step of L layers and B tokens takes 3 x 4 B D F L / C, with full
// recomputation 4 x, in however many microbatches; the overhead of a step comes on top.
TEST(PlanTreeTest, OnOneChipTheBoundIsTheStep) {
  const planning::PlanSpace space(SmallSpace{.cluster = "tpu-v5p:1",
                                             .search = "recompute: [none, full], microbatches: [1, 4], zero: 0",
                                             .more = "training: {step_overhead: 3 us}\n"}
                                      .load());
  planning::PlanTree tree(space);
  planning::PlanSimulator simulator(space);
  spdlog::logger silent("test");
  ASSERT_EQ(space.size(), 4);
  for (const auto& plan : space.plans_of(space.nodes().front())) {
    const double passes = plan.recompute == 0 ? 3 : 4;
    const double expected = passes * 4 * 128 * small_d * small_f * 8 / peak_flops + 3e-6;
    EXPECT_NEAR(tree.bounds_of(plan).back().seconds, expected, 1e-9 * expected);
    EXPECT_NEAR(simulator.step_s(plan, engine::EngineKind::simgrid, silent), expected, 1e-9 * expected);
  }
}

}  // namespace
}  // namespace lockstep::test
