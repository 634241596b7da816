// A rank of an order repeats from cell `first` to cell `last` with a period of `cells`, m microbatches later:
//   cell(i + cells) = cell(i), m microbatches later,   for all i from first to last - cells.
// Without k periods, what stands after them is that of k m microbatches fewer.
#include "sim/timing/steady_periods.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/schedules/order_text.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"
#include "workloads/pipeline/verify_order.hpp"

namespace lockstep {
namespace {

workloads::PipelineOrder order(std::string_view schedule, std::int32_t ranks, std::int32_t microbatches) {
  workloads::ScheduleRequest request;
  request.name = schedule;
  request.ranks = ranks;
  request.microbatches = microbatches;
  return make_order(request);
}

void expect_rank(const timing::SteadyPeriods::Rank& rank, std::size_t first, std::size_t last, std::size_t cells) {
  EXPECT_EQ(rank.first, first);
  EXPECT_EQ(rank.last, last);
  EXPECT_EQ(rank.cells, cells);
}

// 1F1B of 6 microbatches on 2 ranks: rank 0 F0 [F1 B0 F2 B1 F3 B2 F4 B3 F5 B4] B5 and rank 1 [F0 B0 ... F5 B5]. A
// period is one forward and one backward: 5 on rank 0, 6 on rank 1, 5 that both have.
TEST(SteadyPeriods, OneForwardAndOneBackward) {
  const auto periods = timing::steady_periods(order("1f1b", 2, 6));
  ASSERT_TRUE(periods);
  EXPECT_EQ(periods->microbatches, 1);
  ASSERT_EQ(periods->ranks.size(), 2U);
  expect_rank(periods->ranks[0], 1, 11, 2);
  expect_rank(periods->ranks[1], 0, 12, 2);
  EXPECT_EQ(periods->ranks[0].periods(), 5U);
  EXPECT_EQ(periods->periods(), 5U);
}

// A step may show that it repeats with two periods and the cells in which it settles, 8 or a quarter of a period. In
// cells: 2 x 2 + 8 = 12 of 1F1B, which are six periods on rank 0; rank 1 has one more without them. Of 4 chunks on 8
// ranks, a period has 2 x 4 x 8 = 64 cells and settles in 16: 2 x 64 + 16 = 144 cells. Rank 0 repeats from its first
// backward, after 7 x 2 + 3 x 8 = 38 forwards, to its last forward: 2 (8 x 4 x g - 38) = 64 g - 76 cells with g groups
// of 8 microbatches, so g - 2 periods and 52 cells. Two periods and 52 cells are enough.
TEST(SteadyPeriods, AFewMayShowThatTheStepRepeats) {
  EXPECT_EQ(timing::steady_periods(order("1f1b", 2, 40))->fewest_to_repeat(), 6U);
  workloads::ScheduleRequest request;
  request.name = "interleaved";
  request.ranks = 8;
  request.microbatches = 8 * 6;
  request.chunks = 4;
  const auto periods = timing::steady_periods(make_order(request));
  ASSERT_TRUE(periods);
  EXPECT_EQ(periods->microbatches, 8);
  EXPECT_EQ(periods->ranks[0].cells, 64U);
  EXPECT_EQ(periods->periods(), 4U);
  EXPECT_EQ(periods->ranks[0].last - periods->ranks[0].first, 4 * 64U + 52U);
  EXPECT_EQ(periods->fewest_to_repeat(), 2U);
}

// Microbatches that go two by two: the period is four cells for two microbatches, three times over.
TEST(SteadyPeriods, SeveralMicrobatchesMakeAPeriod) {
  const auto periods = timing::steady_periods(
      order_of(workloads::StagePlacement::linear, 1, 6, {"0F0 0F1 0B0 0B1 0F2 0F3 0B2 0B3 0F4 0F5 0B4 0B5"}));
  ASSERT_TRUE(periods);
  EXPECT_EQ(periods->microbatches, 2);
  expect_rank(periods->ranks[0], 0, 12, 4);
  EXPECT_EQ(periods->periods(), 3U);
}

// One microbatch has no other that it could repeat; and where a rank does not repeat, the order does not.
TEST(SteadyPeriods, ThereMayBeNone) {
  EXPECT_FALSE(timing::steady_periods(order("1f1b", 1, 1)));
  EXPECT_FALSE(timing::steady_periods(order("1f1b", 4, 1)));
  EXPECT_FALSE(
      timing::steady_periods(order_of(workloads::StagePlacement::linear, 1, 4,
                                      {"0F0 0F1 0F2 0F3 0B3 0B2 0B1 0B0", "1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3"})));
}

// A pipeline that is entered at both ends: a period is one microbatch from each end, here 0 .. 19 and 20 .. 39.
TEST(SteadyPeriods, EndsTakeTurns) {
  const auto whole = order("dualpipe", 4, 40);
  auto periods = timing::steady_periods(whole);
  ASSERT_TRUE(periods);
  EXPECT_EQ(periods->microbatches, 1);
  const auto shorter = without_periods(whole, 3, *periods);
  EXPECT_EQ(shorter.shape.microbatches, 34);
  EXPECT_EQ(shorter.ranks, order("dualpipe", 4, 34).ranks);
}

// zb-h1 leaves the weight gradients of the first microbatches for the end of the step: they stay theirs.
TEST(WithoutPeriods, KeepsWhatWasPutOff) {
  const auto whole = order("zb-h1", 4, 40);
  auto periods = timing::steady_periods(whole);
  ASSERT_TRUE(periods);
  const auto shorter = without_periods(whole, 30, *periods);
  EXPECT_TRUE(verify_order(shorter).empty());
  EXPECT_EQ(shorter.ranks, order("zb-h1", 4, 10).ranks);
}

/// Every order that the schedules make, on a few ranks.
template <class Check>
void for_each_order(Check check) {
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    for (const std::int32_t ranks : {1, 2, 3, 4}) {
      for (const std::int32_t microbatches : {1, 2, 4, 12, 13, 24}) {
        if (schedule.why_not(ranks, microbatches, schedule.usual_chunks)) continue;
        const workloads::PipelineOrder made = order(schedule.name, ranks, microbatches);
        SCOPED_TRACE(std::string(schedule.name) + " on " + std::to_string(ranks) + " ranks, " +
                     std::to_string(microbatches) + " microbatches");
        check(made);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

workloads::PipelineAction later(workloads::PipelineAction action, std::int32_t microbatches) {
  action.microbatch += microbatches;
  return action;
}

TEST(SteadyPeriods, RepeatWhatTheySayAndGoNoFurther) {
  int found = 0;
  for_each_order([&](const workloads::PipelineOrder& made) {
    const auto periods = timing::steady_periods(made);
    if (!periods) return;
    ++found;
    ASSERT_EQ(periods->ranks.size(), made.ranks.size());
    std::size_t least = made.ranks.front().size();
    for (std::size_t rank = 0; rank < made.ranks.size(); ++rank) {
      const auto& cells = made.ranks[rank];
      const auto& part = periods->ranks[rank];
      ASSERT_LE(part.last, cells.size());
      ASSERT_GT(part.last, part.first + part.cells) << "nothing repeats";
      const auto repeats = [&](std::size_t i) {
        const auto& next = cells[i + part.cells];
        return next.first == later(cells[i].first, periods->microbatches) &&
               next.second.has_value() == cells[i].second.has_value() &&
               (!next.second || *next.second == later(*cells[i].second, periods->microbatches));
      };
      for (std::size_t i = part.first; i + part.cells < part.last; ++i) ASSERT_TRUE(repeats(i)) << i;
      EXPECT_FALSE(part.first > 0 && repeats(part.first - 1)) << "it starts earlier";
      EXPECT_FALSE(part.last < cells.size() && repeats(part.last - part.cells)) << "it ends later";
      least = std::min(least, (part.last - part.first) / part.cells);
    }
    EXPECT_EQ(periods->periods(), least);
  });
  EXPECT_GT(found, 100);
}

// 1F1B without k periods is 1F1B of k microbatches fewer, and its periods are those that are left.
TEST(WithoutPeriods, IsTheOrderOfFewerMicrobatches) {
  for (const std::int32_t ranks : {1, 2, 3, 5}) {
    const workloads::PipelineOrder whole = order("1f1b", ranks, 20);
    const auto steady = timing::steady_periods(whole);
    ASSERT_TRUE(steady);
    for (std::size_t fewer = 0; fewer + 3 < steady->periods(); ++fewer) {
      auto periods = *steady;
      const workloads::PipelineOrder made = without_periods(whole, fewer, periods);
      const workloads::PipelineOrder expected = order("1f1b", ranks, 20 - static_cast<std::int32_t>(fewer));
      EXPECT_EQ(made.ranks, expected.ranks) << ranks << " ranks, " << fewer << " fewer";
      EXPECT_EQ(made.shape.microbatches, expected.shape.microbatches);
      EXPECT_EQ(made.schedule, "1f1b");
      EXPECT_EQ(periods.periods(), steady->periods() - fewer);
      const auto again = timing::steady_periods(made);
      ASSERT_TRUE(again);
      for (std::size_t rank = 0; rank < made.ranks.size(); ++rank)
        expect_rank(again->ranks[rank], periods.ranks[rank].first, periods.ranks[rank].last, periods.ranks[rank].cells);
    }
  }
}

TEST(WithoutPeriods, NoneFewerIsTheWhole) {
  for_each_order([](const workloads::PipelineOrder& made) {
    auto periods = timing::steady_periods(made);
    if (!periods) return;
    EXPECT_EQ(without_periods(made, 0, *periods).ranks, made.ranks);
  });
}

// Each rank has as many cells fewer as its periods have, every action stands once, and no microbatch is left without
// its number: where the order verifies, a step of fewer microbatches is sound.
TEST(WithoutPeriods, TakesWholePeriodsFromEveryRank) {
  int sound = 0;
  for_each_order([&](const workloads::PipelineOrder& made) {
    auto periods = timing::steady_periods(made);
    if (!periods || periods->periods() < 4) return;
    const auto before = *periods;
    const std::size_t fewer = periods->periods() / 2;
    const workloads::PipelineOrder shorter = without_periods(made, fewer, *periods);
    const std::int32_t ends = made.shape.placement == workloads::StagePlacement::bidirectional ? 2 : 1;
    EXPECT_EQ(shorter.shape.microbatches,
              made.shape.microbatches - ends * static_cast<std::int32_t>(fewer) * before.microbatches);
    for (std::size_t rank = 0; rank < made.ranks.size(); ++rank) {
      EXPECT_EQ(shorter.ranks[rank].size() + fewer * before.ranks[rank].cells, made.ranks[rank].size());
      EXPECT_EQ(periods->ranks[rank].last, before.ranks[rank].last - fewer * before.ranks[rank].cells);
    }
    sound += verify_order(shorter).empty() ? 1 : 0;
  });
  EXPECT_GT(sound, 30);
}

// Forwards first, then all backwards: the middle repeats backwards only, and without some of those forwards of them
// would be left over. Such orders do not verify, and are not used.
TEST(WithoutPeriods, WorkPutOffToTheEndIsMissing) {
  const workloads::PipelineOrder whole = order("gpipe", 2, 16);
  auto periods = timing::steady_periods(whole);
  ASSERT_TRUE(periods);
  EXPECT_EQ(periods->ranks[0].cells, 1U);
  EXPECT_FALSE(verify_order(without_periods(whole, 4, *periods)).empty());
}

}  // namespace
}  // namespace lockstep
