#include "sim/timeline/timeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace lockstep {
namespace {

timeline::Interval interval(double start, double end) { return {Seconds(start), Seconds(end)}; }

/// One operation, run by some of five ranks.
timeline::Timeline on_ranks(const timeline::RankSets::Ranks& ranks) {
  return timeline::Timeline(std::make_shared<const timeline::RankSets>(5, std::vector<timeline::RankSets::Ranks>{ranks},
                                                                       std::vector<std::int32_t>{0}));
}

TEST(Timeline, IsOfAllRanksUnlessSetsAreGiven) {
  const timeline::Timeline timeline(2, 3);
  EXPECT_EQ(timeline.ops(), 2);
  EXPECT_EQ(timeline.ranks(), 3);
  EXPECT_THAT(timeline.ranks_of(1), testing::ElementsAre(0, 1, 2));
  EXPECT_TRUE(timeline.uniform(1));
  EXPECT_EQ(timeline.makespan(), Seconds(0));
}

TEST(Timeline, RanksThatAgreeAreUniform) {
  timeline::Timeline timeline = on_ranks({0, 2});
  timeline.record(0, 0, interval(1, 2));
  timeline.record(0, 2, interval(1, 2));
  EXPECT_TRUE(timeline.uniform(0));
  EXPECT_TRUE(timeline.took_part(0, 0));
  EXPECT_FALSE(timeline.took_part(0, 1));
  EXPECT_FALSE(timeline.took_part(0, 4));
  EXPECT_EQ(timeline.span(0, 2), interval(1, 2));
}

TEST(Timeline, RanksThatDifferKeepTheirOwn) {
  timeline::Timeline timeline = on_ranks({0, 1, 3, 4});
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

// The set {1, 4} has its lowest rank at place 0, its next at place 1, and nobody else, before, between or behind.
TEST(RankSets, APlaceCountsTheRanksBefore) {
  const timeline::RankSets sets(6, {{1, 4}, {0, 1, 2, 3, 4, 5}, {1, 4}, {}}, {0, 1, 2, 3});
  std::vector<std::int32_t> places;
  for (std::int32_t rank = 0; rank < 6; ++rank) places.push_back(sets.place(0, rank));
  EXPECT_THAT(places, testing::ElementsAre(-1, 0, -1, -1, 1, -1));
  EXPECT_THAT(sets.of(2), testing::ElementsAre(1, 4));
  EXPECT_EQ(sets.place(1, 5), 5);
  EXPECT_FALSE(sets.has(3, 0));
  EXPECT_EQ(sets.set(0), sets.set(2)) << "equal sets are one";
  EXPECT_NE(sets.set(0), sets.set(1));
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
