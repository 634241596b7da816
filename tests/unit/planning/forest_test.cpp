// A forest grows the same branches on any number of threads.
#include <gtest/gtest.h>

#include "sim/studies/planning/plan_forest.hpp"
#include "tests/unit/planning/small_space.hpp"

namespace lockstep::test {
namespace {

const SmallSpace small{.cluster = "tpu-v5p:4x2",
                       .search =
                           "tensor: [1, 2, 4, 8], pipeline: [1, 2], zero: [0, 3], recompute: none, microbatches: "
                           "[1, 2], schedules: [1f1b, zb-h1]"};

void expect_same(const planning::PlanBranch& one, const planning::PlanBranch& other) {
  EXPECT_EQ(one.bound_s, other.bound_s);
  EXPECT_EQ(one.level, other.level);
  EXPECT_EQ(one.choice, other.choice);
  EXPECT_EQ(one.node, other.node);
  EXPECT_EQ(one.plans, other.plans);
}

TEST(PlanForestTest, OneThreadAndThreeGrowTheSameBranches) {
  const planning::PlanSpace space(small.load());
  planning::PlanForest one(space, 1), three(space, 3);
  EXPECT_EQ(three.threads(), 3);
  auto branches = one.roots(), others = three.roots();
  ASSERT_EQ(branches.size(), space.nodes().size());
  while (!branches.empty()) {
    ASSERT_EQ(branches.size(), others.size());
    for (std::size_t i = 0; i < branches.size(); ++i) expect_same(branches[i], others[i]);
    const auto below = one.below(branches), beside = three.below(others);
    std::vector<planning::PlanBranch> next, next_others;
    for (std::size_t i = 0; i < below.size(); ++i) {
      EXPECT_EQ(below[i].too_large, beside[i].too_large);
      next.insert(next.end(), below[i].branches.begin(), below[i].branches.end());
      next_others.insert(next_others.end(), beside[i].branches.begin(), beside[i].branches.end());
    }
    branches = std::move(next);
    others = std::move(next_others);
  }
  EXPECT_EQ(one.bounds(), three.bounds());
}

// Roots are those of a tree by itself, in the order of the nodes; branches lie in the order of what they are below.
TEST(PlanForestTest, KeepsTheOrderOfItsBranches) {
  const planning::PlanSpace space(small.load());
  planning::PlanForest forest(space, 2);
  planning::PlanTree tree(space);
  auto roots = forest.roots();
  for (std::size_t i = 0; i < roots.size(); ++i) expect_same(roots[i], tree.root(static_cast<std::int32_t>(i)));
  std::reverse(roots.begin(), roots.end());
  const auto below = forest.below(roots);
  for (std::size_t i = 0; i < roots.size(); ++i) {
    for (const auto& branch : below[i].branches) EXPECT_EQ(branch.node, roots[i].node);
  }
  EXPECT_TRUE(forest.below({}).empty());
}

}  // namespace
}  // namespace lockstep::test
