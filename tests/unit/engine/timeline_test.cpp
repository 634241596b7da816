#include "sim/timeline/timeline.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

timeline::Interval interval(double start, double end) { return {Seconds(start), Seconds(end)}; }

TEST(Timeline, NobodyTookPartAtFirst) {
  const timeline::Timeline timeline(2, 3);
  EXPECT_EQ(timeline.ops(), 2);
  EXPECT_EQ(timeline.ranks(), 3);
  EXPECT_FALSE(timeline.took_part(1, 2));
  EXPECT_TRUE(timeline.uniform(1));
  EXPECT_EQ(timeline.makespan(), Seconds(0));
}

TEST(Timeline, RanksThatAgreeAreUniform) {
  timeline::Timeline timeline(1, 3);
  timeline.record(0, 0, interval(1, 2));
  timeline.record(0, 2, interval(1, 2));
  EXPECT_TRUE(timeline.uniform(0));
  EXPECT_TRUE(timeline.took_part(0, 0));
  EXPECT_FALSE(timeline.took_part(0, 1));
  EXPECT_EQ(timeline.span(0, 2), interval(1, 2));
}

TEST(Timeline, RanksThatDifferKeepTheirOwn) {
  timeline::Timeline timeline(1, 5);
  timeline.record(0, 3, interval(1, 2));
  timeline.record(0, 0, interval(1, 2));
  timeline.record(0, 1, interval(1, 4));
  timeline.record(0, 4, interval(1, 2));
  EXPECT_FALSE(timeline.uniform(0));
  EXPECT_EQ(timeline.span(0, 3), interval(1, 2));
  EXPECT_EQ(timeline.span(0, 0), interval(1, 2));
  EXPECT_EQ(timeline.span(0, 1), interval(1, 4));
  EXPECT_EQ(timeline.span(0, 4), interval(1, 2));
  EXPECT_FALSE(timeline.took_part(0, 2));
}

// Makespan: the latest end, whoever's and in whatever order.
TEST(Timeline, MakespanIsTheLatestEnd) {
  timeline::Timeline timeline(2, 1);
  timeline.record(1, 0, interval(3, 7));
  timeline.record(0, 0, interval(0, 3));
  EXPECT_EQ(timeline.makespan(), Seconds(7));
}

}  // namespace
}  // namespace lockstep
