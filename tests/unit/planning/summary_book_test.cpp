// Summaries are shared by the plans that have them in common.
#include "sim/studies/planning/summary_book.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/unit/planning/small_space.hpp"

namespace lockstep::test {
namespace {

const SmallSpace small{.cluster = "tpu-v5p:4x2",
                       .search =
                           "tensor: [1, 2], pipeline: [1, 2], zero: [0, 1, 2, 3], recompute: [none, full], "
                           "microbatches: [1, 2, 4], schedules: [1f1b, gpipe]"};

class SummaryBookTest : public testing::Test {
 protected:
  planning::PlanSpace space_{small.load()};
  planning::SummaryBook book_{space_};
  /// tensor 1, data 4, pipeline 2, ZeRO 1, no recomputation, 2 microbatches of 2 sequences on a rank.
  planning::PlanChoice plan_{{1, 1, 1, 4, 2}, 1, 0, 2, 0, {0, 1}};
};

TEST_F(SummaryBookTest, PassesDoNotDependOnWhereAndWhen) {
  const auto* const passes = &book_.passes(plan_);
  auto other = plan_;
  other.placement = 1;
  other.schedule = {1, 1};
  EXPECT_EQ(&book_.passes(other), passes);
  other.zero = 0;  // splits no weights either, and adds gradients up likewise
  EXPECT_EQ(&book_.passes(other), passes);
  // 16 sequences over data 8 in 1 microbatch are also 2 a rank, but a single microbatch adds up no gradients.
  other.degrees = {1, 1, 1, 8, 1};
  other.microbatches = 1;
  EXPECT_NE(&book_.passes(other), passes);
}

TEST_F(SummaryBookTest, PassesDependOnTokensTensorRecomputationAndGathers) {
  const auto* const passes = &book_.passes(plan_);
  auto fewer = plan_, split = plan_, again = plan_, gathered = plan_;
  fewer.microbatches = 4;
  split.degrees = {2, 1, 1, 2, 2};
  again.recompute = 1;
  gathered.zero = 3;
  for (const auto& other : {fewer, split, again, gathered}) EXPECT_NE(&book_.passes(other), passes);
  // Half the tokens, half the products.
  const auto& less = book_.passes(fewer);
  EXPECT_DOUBLE_EQ(2 * less.kinds.front().forward.compute, passes->kinds.front().forward.compute);
  // Full recomputation: one more forward in the backward.
  const auto& whole = passes->kinds.front();
  EXPECT_DOUBLE_EQ(book_.passes(again).kinds.front().backward.compute, whole.backward.compute + whole.forward.compute);
  EXPECT_TRUE(whole.forward.gathers.empty());
  EXPECT_EQ(book_.passes(gathered).kinds.front().forward.gathers.size(), 1u);
}

// ZeRO 2 and 3 reduce gradients of every microbatch: however many there are, the passes are those of one.
TEST_F(SummaryBookTest, GradientsReducedEveryTimeAreThoseOfOneMicrobatch) {
  auto two = plan_, one = plan_;
  two.zero = one.zero = 2;
  one.degrees = {1, 1, 1, 8, 1};
  one.microbatches = 1;
  EXPECT_EQ(&book_.passes(two), &book_.passes(one));
}

TEST_F(SummaryBookTest, StatesDependOnAxesAndZero) {
  const auto* const state = &book_.state(plan_);
  auto other = plan_;
  other.microbatches = 4;
  other.recompute = 1;
  other.placement = 1;
  other.schedule = {1, 1};
  EXPECT_EQ(&book_.state(other), state);
  other.zero = 3;
  EXPECT_NE(&book_.state(other), state);
  other = plan_;
  other.degrees = {1, 1, 1, 8, 1};
  EXPECT_NE(&book_.state(other), state);
  // ZeRO 1 over data 4: weights of 2 bytes whole, a quarter of 8 bytes of state, for 2 D F parameters.
  EXPECT_EQ(state->kinds.front().held, 2 * small_d * small_f * (2 + 8 / 4));
}

// One number for each collective, whichever list it is in.
TEST_F(SummaryBookTest, NumbersTellCollectivesApart) {
  std::vector<const planning::CollectiveList*> lists{&book_.norm_over_stages()};
  for (const auto& node : space_.nodes()) {
    for (const auto& plan : space_.plans_of(node)) {
      lists.push_back(&book_.passes(plan));
      lists.push_back(&book_.state(plan));
    }
  }
  std::map<std::int32_t, planning::PlanCollective> by_number;
  for (const auto* list : lists) {
    ASSERT_EQ(list->numbers.size(), list->collectives.size());
    for (std::size_t i = 0; i < list->numbers.size(); ++i) {
      const auto known = by_number.try_emplace(list->numbers[i], list->collectives[i]).first;
      EXPECT_EQ(known->second, list->collectives[i]);
    }
  }
  EXPECT_GT(by_number.size(), 4u);
  for (auto one = by_number.begin(); one != by_number.end(); ++one) {
    for (auto other = by_number.begin(); other != one; ++other) EXPECT_FALSE(one->second == other->second);
  }
}

TEST_F(SummaryBookTest, TheNormOfAllStagesIsANumber) {
  ASSERT_EQ(book_.norm_over_stages().collectives.size(), 1u);
  const auto& norm = book_.norm_over_stages().collectives.front();
  EXPECT_EQ(norm.kind, workloads::CollectiveKind::all_reduce);
  EXPECT_EQ(norm.axes, 1U << planning::pipeline_axis_number);
  EXPECT_EQ(norm.size, Bytes(4));
  EXPECT_EQ(book_.order(), space_.kinds());
}

}  // namespace
}  // namespace lockstep::test
