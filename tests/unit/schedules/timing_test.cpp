// Timing rule: a cell starts when its rank is free and its inputs have arrived (pipeline_timing.hpp). Cases small
// enough to draw by hand.
#include "workloads/pipeline/pipeline_timing.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep {
namespace {

using enum workloads::PipelineWork;

workloads::PipelineOrder two_ranks() {
  workloads::PipelineOrder order;
  order.shape = {workloads::StagePlacement::linear, 2, 1, 2};
  order.ranks = {{{{forward, 0, 0}, {}}, {{forward, 0, 1}, {}}, {{backward, 0, 0}, {}}, {{backward, 0, 1}, {}}},
                 {{{forward, 1, 0}, {}}, {{backward, 1, 0}, {}}, {{forward, 1, 1}, {}}, {{backward, 1, 1}, {}}}};
  return order;
}

// F 1, B 2, c 0.5. Rank 0: F0 0-1, F1 1-2; rank 1: F0 1.5-2.5, B0 2.5-4.5, F1 4.5-5.5, B1 5.5-7.5;
// rank 0: B0 5-7, B1 8-10. Makespan 10, busy 6 each.
TEST(PipelineTiming, TwoRanksByHand) {
  workloads::PipelineTimes times;
  times.latency = 0.5;
  const auto timing = time_order(two_ranks(), times);
  EXPECT_DOUBLE_EQ(timing.makespan, 10);
  EXPECT_DOUBLE_EQ(timing.spans[1][0].start, 1.5);
  EXPECT_DOUBLE_EQ(timing.spans[0][2].start, 5);
  EXPECT_DOUBLE_EQ(timing.bubble_step[0], 4);
  EXPECT_DOUBLE_EQ(timing.bubble_step[1], 4);
  EXPECT_DOUBLE_EQ(timing.bubble_span[0], 4);
  EXPECT_DOUBLE_EQ(timing.bubble_span[1], 0);
}

TEST(PipelineTiming, CellsComeAfterWhatTheyWaitFor) {
  workloads::PipelineTimes times;
  times.stages = {{0, 0, 0}};
  const auto order = two_ranks();
  const auto timing = time_order(order, times);
  ASSERT_EQ(timing.by_start.size(), 8U);
  std::vector<std::string> seen;
  for (const auto& [rank, index] : timing.by_start) {
    seen.push_back(order.ranks[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index)].to_string());
  }
  const auto place = [&](const char* cell) { return std::find(seen.begin(), seen.end(), cell) - seen.begin(); };
  EXPECT_LT(place("0F0"), place("1F0"));
  EXPECT_LT(place("1B0"), place("0B0"));
  EXPECT_LT(place("1B1"), place("0B1"));
}

TEST(PipelineTiming, PairTakesItsOwnTimeAndWaitsForBothHalves) {
  auto order = two_ranks();
  order.ranks[1] = {{{forward, 1, 0}, {}}, {{forward, 1, 1}, {{backward, 1, 0}}}, {{backward, 1, 1}, {}}};
  order.ranks[1][1].second = workloads::PipelineAction{backward, 1, 0};
  workloads::PipelineTimes times;
  times.pair = 2.5;
  // rank 1: F0 1-2, pair 2-4.5, B1 4.5-6.5; rank 0: B0 4.5-6.5, B1 6.5-8.5.
  EXPECT_DOUBLE_EQ(time_order(order, times).makespan, 8.5);
  EXPECT_EQ(held_activations(order).until_input_gradient, (std::vector<std::int32_t>{2, 2}));
}

TEST(PipelineTiming, StagesMayDiffer) {
  workloads::PipelineTimes times;
  times.stages = {{1, 1, 1}, {2, 2, 2}};
  // rank 1: F0 1-3, B0 3-7, F1 7-9, B1 9-13; rank 0: B1 13-15.
  EXPECT_DOUBLE_EQ(time_order(two_ranks(), times).makespan, 15);
}

TEST(PipelineTiming, OrderThatNeverEndsIsRefused) {
  auto order = two_ranks();
  std::swap(order.ranks[1][0], order.ranks[1][1]);
  EXPECT_THROW((void)time_order(order, {}), workloads::ScheduleError);
}

}  // namespace
}  // namespace lockstep
