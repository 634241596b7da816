#include "tools/trace/shown_ranks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/unit/trace/simulated.hpp"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::FieldsAre;

/// Four ranks in two stages; operation 0 is of stage 0, operation 1 of stage 1, operation 2 of stage 0 again.
Simulation by_hand(const std::vector<double>& end_of_operation_2) {
  const timeline::RankSets sets(4, {{0, 1}, {2, 3}}, {0, 1, 0});
  Simulation simulation{
      {}, {}, {}, 0, 0, 0, {timeline::Timeline(std::make_shared<const timeline::RankSets>(sets)), {}, {}},
      {}, 0,  {}, {}};
  simulation.program.stage_of_rank = {0, 0, 1, 1};
  simulation.ranks = {{0, 1, 2, 3}, {0, 1, 2, 3}, {1, 1, 1, 1}};
  for (const int stage : {0, 1, 0}) simulation.program.ops.emplace_back().stage = stage;
  auto& timeline = simulation.run.timeline;
  for (const int rank : {0, 1}) timeline.record(0, rank, {Seconds(0), Seconds(1)});
  for (const int rank : {2, 3}) timeline.record(1, rank, {Seconds(1), Seconds(2)});
  for (const int rank : {0, 1})
    timeline.record(2, rank, {Seconds(2), Seconds(end_of_operation_2[static_cast<std::size_t>(rank)])});
  return simulation;
}

TEST(ShownRanks, RanksThatRunDifferentOperationsAreToldApart) {
  // All spans of an operation agree; stages differ in which operations they run.
  EXPECT_THAT(trace::distinct_ranks(by_hand({3, 3})), ElementsAre(FieldsAre(0, 0, 2), FieldsAre(2, 2, 2)));
}

TEST(ShownRanks, RanksWithOtherTimesAreToldApart) {
  EXPECT_THAT(trace::distinct_ranks(by_hand({3, 4})),
              ElementsAre(FieldsAre(0, 0, 1), FieldsAre(1, 1, 1), FieldsAre(2, 2, 2)));
}

TEST(ShownRanks, TheCriticalRankIsFirst) {
  auto simulation = by_hand({3, 4});
  simulation.metrics.critical_rank = 3;  // its lanes are those of rank 2
  EXPECT_THAT(trace::distinct_ranks(simulation),
              ElementsAre(FieldsAre(2, 2, 2), FieldsAre(0, 0, 1), FieldsAre(1, 1, 1)));
}

TEST(ShownRanks, ClassesOfAFoldedProgramCountTheirRanks) {
  auto simulation = by_hand({3, 4});
  // Ten ranks of the mesh; class 0 is ranks 4 and 5, class 1 rank 6, class 2 ranks 7 to 9, class 3 ranks 0 to 3.
  simulation.ranks = {{3, 3, 3, 3, 0, 0, 1, 2, 2, 2}, {4, 6, 7, 0}, {2, 1, 3, 4}};
  simulation.metrics.critical_rank = 1;
  EXPECT_THAT(trace::distinct_ranks(simulation),
              ElementsAre(FieldsAre(1, 6, 1), FieldsAre(3, 0, 7), FieldsAre(0, 4, 2)));
}

}  // namespace
}  // namespace lockstep
