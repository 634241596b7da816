// Dates of ranks whose clocks differ, laid on each other by the ends of their collectives: a rank's clock is ahead by
// the median of end(rank) - end(first), and it began later by begin(rank) - ahead - that of the first to begin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/studies/replay/clocks.hpp"
#include "tests/unit/replay/hand_job.hpp"

namespace lockstep::test {
namespace {

/// In microseconds.
std::vector<double> later(const Job& made) {
  std::vector<replay::RankWork> works;
  for (const auto& rank : made.job.ranks) works.push_back(replay::work_of(rank, made.job.dated));
  std::vector<double> list;
  for (const auto time : replay::later_begins(made.job, works, replay::matched_collectives(made.job, works)))
    list.push_back(std::round(time.value() * 1e9) / 1e3);
  return list;
}

// Collectives end at 100, 600 and 1'050, so clocks are ahead by 0, 500 and 950. Ranks begin at 0, 530 and 940 of their
// clocks: 0, 30 and -10 of the first one's, thus 10, 40 and 0 after the first to begin.
TEST(Clocks, ThreeRanksWithShiftedClocks) {
  Job made(3);
  const double begins[] = {0, 530, 940}, ends[] = {100, 600, 1050};
  for (const std::size_t rank : {0U, 1U, 2U}) {
    made.kernel_at(rank, begins[rank], 10);
    made.collective_at(rank, ends[rank] - 20, 20).after = {0};
  }
  EXPECT_THAT(later(made), testing::ElementsAre(10, 40, 0));
  // Each rank ends at 100 + 10 after the first to begin: its own clock's end - begin + what it began later.
  for (const auto& rank : made.run().ranks) {
    EXPECT_NEAR(rank.recorded->value() * 1e6, 110, 1e-6) << rank.rank;
    EXPECT_NEAR(rank.simulated.value() * 1e6, 110, 1e-6) << rank.rank;
  }
}

// Differences of 500, 540 and 503: the median is 503, so a rank that begins at 510 began 7 later.
TEST(Clocks, TheMedianCounts) {
  Job made(2);
  const double ends[][2] = {{100, 600}, {200, 740}, {300, 803}};
  made.kernel_at(0, 0, 1);
  made.kernel_at(1, 510, 1);
  for (const auto& pair : ends) {
    for (const std::size_t rank : {0U, 1U}) made.collective_at(rank, pair[rank] - 20, 20);
  }
  EXPECT_THAT(later(made), testing::ElementsAre(0, 7));
}

// Rank 2 shares no collective with rank 0, but one with rank 1: 40 ahead of 500 ahead. It begins at 560: 20 later.
TEST(Clocks, NeighboursOfNeighbours) {
  Job made(3);
  made.job.groups[0].ranks = {0, 1};
  made.job.groups.push_back({"pair", "", {1, 2}, 2});
  made.collective_at(0, 0, 100);
  made.collective_at(1, 500, 100);
  made.collective_at(1, 700, 100);
  made.last(1).group = 1;
  made.collective_at(2, 560, 280);
  made.last(2).group = 1;
  EXPECT_THAT(later(made), testing::ElementsAre(0, 0, 20));
}

// A rank without any, and graphs without dates, begin with the first.
TEST(Clocks, NothingToCompareBy) {
  Job alone(2);
  alone.kernel_at(0, 5, 1);
  alone.kernel_at(1, 900, 1);
  EXPECT_THAT(later(alone), testing::ElementsAre(0, 0));
  Job graph(2);
  for (const std::size_t rank : {0U, 1U}) graph.collective(rank, 1);
  EXPECT_THAT(later(graph), testing::ElementsAre(0, 0));
}

}  // namespace
}  // namespace lockstep::test
