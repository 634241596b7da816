// A timeline stores spans that ranks share only once; whatever is recorded in whatever order, it gives back what a
// plain map of (operation, rank) holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "sim/timeline/timeline.hpp"

namespace lockstep {
namespace {

using Place = std::pair<std::int32_t, std::int32_t>;

class RandomTimeline : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Timeline, RandomTimeline, testing::Range(1U, 201U));

// Few different spans, so that ranks agree often: on all of an operation, on some of it, and again after they differed.
TEST_P(RandomTimeline, GivesBackWhatWasRecorded) {
  std::mt19937 random(GetParam());
  const auto below = [&](unsigned bound) { return static_cast<std::int32_t>(random() % bound); };
  const std::int32_t ops = 1 + below(6), ranks = 1 + below(8);
  std::vector<Place> places;
  std::vector<timeline::RankSets::Ranks> sets(static_cast<std::size_t>(ops));
  std::vector<std::int32_t> set_of_op;
  for (std::int32_t op = 0; op < ops; ++op) {
    set_of_op.push_back(op);
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      if (below(4) == 0) continue;
      places.emplace_back(op, rank);
      sets[static_cast<std::size_t>(op)].push_back(rank);
    }
  }
  std::shuffle(places.begin(), places.end(), random);

  timeline::Timeline timeline(std::make_shared<const timeline::RankSets>(ranks, sets, set_of_op));
  std::map<Place, timeline::Interval> expected;
  Seconds makespan(0);
  for (const auto& [op, rank] : places) {
    const double start = below(2), end = start + below(2);
    const timeline::Interval span{Seconds(start), Seconds(end)};
    timeline.record(op, rank, span);
    expected[{op, rank}] = span;
    makespan = std::max(makespan, span.end);
    for (const auto& [place, recorded] : expected)  // what came before is as it was
      ASSERT_EQ(timeline.span(place.first, place.second), recorded) << place.first << " on " << place.second;
  }

  EXPECT_EQ(timeline.makespan(), makespan);
  for (std::int32_t op = 0; op < ops; ++op) {
    EXPECT_THAT(timeline.ranks_of(op), testing::ElementsAreArray(sets[static_cast<std::size_t>(op)]));
    std::vector<timeline::Interval> spans;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(timeline.took_part(op, rank), expected.contains({op, rank}));
      if (expected.contains({op, rank})) spans.push_back(expected.at({op, rank}));
    }
    const bool agree =
        std::all_of(spans.begin(), spans.end(), [&](const timeline::Interval& one) { return one == spans.front(); });
    EXPECT_EQ(timeline.uniform(op), agree) << "operation " << op;
  }
}

}  // namespace
}  // namespace lockstep
