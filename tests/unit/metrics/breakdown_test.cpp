// compute = time with at least one compute span; exposed = communication and no compute; bubble = neither.
#include <gtest/gtest.h>

#include "tests/unit/metrics/drawn_step.hpp"

namespace lockstep {
namespace {

using test::DrawnStep;

void expect_breakdown(const metrics::Breakdown& got, double compute, double exposed, double bubble) {
  EXPECT_DOUBLE_EQ(got.compute.value(), compute);
  EXPECT_DOUBLE_EQ(got.exposed_comm.value(), exposed);
  EXPECT_DOUBLE_EQ(got.bubble.value(), bubble);
}

// |----compute 0..4----|        compute 4
//      |--comm 1..6-------|     of comm 5 s, 4..6 are exposed: 2
//                            |compute 7..10|: 3 more; 6..7 nothing: bubble 1
TEST(BreakdownTest, OverlapIsNotExposed) {
  DrawnStep drawn(1);
  drawn.compute({{0, 4}});
  drawn.collective({"x"}, {{1, 6}});
  drawn.compute({{7, 10}});
  expect_breakdown(metrics::breakdown_of(drawn.program, drawn.timeline(), 0), 7, 2, 1);
}

// Two collectives at once expose their union, 0..3 and 2..5, once: 5 s.
TEST(BreakdownTest, ParallelCollectivesAreExposedOnce) {
  DrawnStep drawn(1);
  drawn.collective({"x"}, {{0, 3}});
  drawn.collective({"y"}, {{2, 5}});
  expect_breakdown(metrics::breakdown_of(drawn.program, drawn.timeline(), 0), 0, 5, 0);
}

// Rank 1 starts late and ends before the makespan, 10: 2 + 3 s idle.
TEST(BreakdownTest, IdleBeforeAndAfterIsBubble) {
  DrawnStep drawn(2);
  drawn.compute({{0, 10}, {2, 7}});
  expect_breakdown(metrics::breakdown_of(drawn.program, drawn.timeline(), 0), 10, 0, 0);
  expect_breakdown(metrics::breakdown_of(drawn.program, drawn.timeline(), 1), 5, 0, 5);
}

TEST(BreakdownTest, ARankThatTakesNoPartIsIdle) {
  DrawnStep drawn(2);
  drawn.compute({{0, 4}, {-1, -1}});
  drawn.collective({"x"}, {{4, 6}, {-1, -1}});
  expect_breakdown(metrics::breakdown_of(drawn.program, drawn.timeline(), 1), 0, 0, 6);
}

// Operations without duration leave no trace, not even when they are the only ones.
TEST(BreakdownTest, ZeroLengthSpansCountNothing) {
  DrawnStep drawn(1);
  drawn.compute({{0, 2}});
  drawn.compute({{2, 2}});
  drawn.collective({"x"}, {{2, 2}});
  drawn.compute({{2, 3}});
  expect_breakdown(metrics::breakdown_of(drawn.program, drawn.timeline(), 0), 3, 0, 0);
  expect_breakdown(metrics::breakdown_of({}, timeline::Timeline(0, 1), 0), 0, 0, 0);
}

// Spans that touch: what ends and what begins at one instant do not both count.
TEST(BreakdownTest, TouchingSpansNeitherOverlapNorGap) {
  DrawnStep drawn(1);
  drawn.collective({"x"}, {{0, 1}});
  drawn.compute({{1, 2}});
  drawn.collective({"x"}, {{2, 3}});
  drawn.collective({"x"}, {{3, 5}});
  expect_breakdown(metrics::breakdown_of(drawn.program, drawn.timeline(), 0), 1, 4, 0);
}

// The rank that sets the step time: ranks 1 and 2 end at 6, of them the lower.
TEST(CriticalRankTest, IsTheFirstOfThoseThatEndLast) {
  DrawnStep drawn(3);
  drawn.compute({{0, 5}, {0, 6}, {0, 6}});
  drawn.compute({{5, 5.5}, {-1, -1}, {-1, -1}});
  EXPECT_EQ(metrics::critical_rank(drawn.timeline()), 1);
}

// Rank 1 ends last in the first operation, rank 0 in the second: both at 6, so rank 0.
TEST(CriticalRankTest, LooksAtAllOperations) {
  DrawnStep drawn(2);
  drawn.compute({{0, 6}, {0, 1}});
  drawn.compute({{-1, -1}, {1, 6}});
  EXPECT_EQ(metrics::critical_rank(drawn.timeline()), 0);
}

// Operations that some ranks have no part in: rank 1 alone ends last, though its span is the only one there.
TEST(CriticalRankTest, LooksAtThoseThatTakePart) {
  DrawnStep drawn(3);
  drawn.compute({{0, 5}, {-1, -1}, {-1, -1}});
  drawn.compute({{-1, -1}, {0, 9}, {-1, -1}});
  EXPECT_EQ(metrics::critical_rank(drawn.timeline()), 1);
}

// Rank 2 ends last in an earlier operation, rank 1 in a later one: the lower of the two.
TEST(CriticalRankTest, PrefersTheLowerOfTwoOperations) {
  DrawnStep drawn(3);
  drawn.compute({{-1, -1}, {-1, -1}, {0, 9}});
  drawn.compute({{0, 1}, {0, 9}, {-1, -1}});
  EXPECT_EQ(metrics::critical_rank(drawn.timeline()), 1);
}

TEST(CriticalRankTest, OfAnEmptyTimelineIsTheFirst) { EXPECT_EQ(metrics::critical_rank(timeline::Timeline(0, 4)), 0); }

}  // namespace
}  // namespace lockstep
