// Where stages stand: with P ranks and V chunks there are S = P V stages. linear and loop: stage s on rank s mod P. v
// and wave: run r = s / P of the stages goes down the ranks if r is even, else up. bidirectional: the second half of
// the microbatches meets the ranks the other way round.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "workloads/pipeline/pipeline_order.hpp"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using enum workloads::PipelineWork;

std::vector<std::int32_t> ranks_of_stages(const workloads::PipelineShape& shape, std::int32_t microbatch) {
  std::vector<std::int32_t> ranks;
  for (std::int32_t stage = 0; stage < shape.virtual_stages(); ++stage)
    ranks.push_back(shape.rank_of(stage, microbatch));
  return ranks;
}

TEST(PipelineShape, PlacementsOfThreeRanks) {
  EXPECT_THAT(ranks_of_stages({workloads::StagePlacement::linear, 3, 1, 1}, 0), ElementsAre(0, 1, 2));
  EXPECT_THAT(ranks_of_stages({workloads::StagePlacement::loop, 3, 2, 1}, 0), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(ranks_of_stages({workloads::StagePlacement::v, 3, 2, 1}, 0), ElementsAre(0, 1, 2, 2, 1, 0));
  EXPECT_THAT(ranks_of_stages({workloads::StagePlacement::wave, 3, 3, 1}, 0), ElementsAre(0, 1, 2, 2, 1, 0, 0, 1, 2));
  const workloads::PipelineShape both{workloads::StagePlacement::bidirectional, 4, 1, 6};
  EXPECT_THAT(ranks_of_stages(both, 2), ElementsAre(0, 1, 2, 3)) << "the last of the first half";
  EXPECT_THAT(ranks_of_stages(both, 3), ElementsAre(3, 2, 1, 0)) << "the first of the second half";
  EXPECT_THAT(both.virtual_stages_of(0), ElementsAre(0, 3));
  EXPECT_THAT(both.virtual_stages_of(1), ElementsAre(1, 2));
}

// virtual_stages_of(rank) = {s | rank_of(s, m) = rank for some m}, ascending; each microbatch finds V of them there,
// and for_each_virtual_stage_of counts the microbatches of each.
TEST(PipelineShape, VirtualStagesOfARankAreThoseThatStandThere) {
  for (const auto placement : workloads::all_stage_placements) {
    for (std::int32_t ranks = 1; ranks <= 6; ++ranks) {
      for (std::int32_t chunks = 1; chunks <= 4; ++chunks) {
        for (const std::int32_t microbatches : {1, 2, 7}) {
          const workloads::PipelineShape shape{placement, ranks, chunks, microbatches};
          for (std::int32_t rank = 0; rank < ranks; ++rank) {
            std::map<std::int32_t, std::int32_t> expected;  // microbatches by virtual stage
            for (std::int32_t m = 0; m < microbatches; ++m) {
              int here = 0;
              for (std::int32_t stage = 0; stage < shape.virtual_stages(); ++stage) {
                if (shape.rank_of(stage, m) != rank) continue;
                ++expected[stage];
                ++here;
              }
              EXPECT_EQ(here, chunks) << name(placement);
            }
            std::vector<std::pair<std::int32_t, std::int32_t>> visited;
            shape.for_each_virtual_stage_of(rank, [&](auto stage, auto count) { visited.emplace_back(stage, count); });
            std::vector<std::int32_t> stages;
            for (const auto& [stage, count] : visited) stages.push_back(stage);
            EXPECT_THAT(visited, testing::UnorderedElementsAreArray(expected)) << name(placement) << ranks << rank;
            EXPECT_TRUE(std::is_sorted(stages.begin(), stages.end()));
            EXPECT_EQ(shape.virtual_stages_of(rank), stages);
          }
        }
      }
    }
  }
}

// On v and wave what comes next stands beside: a turn of the way stays on its rank, every other hop goes one rank on.
TEST(PipelineShape, WavesHopToNeighbours) {
  for (std::int32_t ranks = 1; ranks <= 5; ++ranks) {
    const workloads::PipelineShape shape{workloads::StagePlacement::wave, ranks, 4, 1};
    for (std::int32_t stage = 0; stage + 1 < shape.virtual_stages(); ++stage) {
      const auto hop = std::abs(shape.rank_of(stage + 1, 0) - shape.rank_of(stage, 0));
      EXPECT_EQ(hop, (stage + 1) % ranks == 0 ? 0 : 1) << stage << " of " << ranks;
    }
  }
}

TEST(PipelineOrderText, OneLineForEachRank) {
  workloads::PipelineOrder order;
  order.shape = {workloads::StagePlacement::linear, 2, 1, 12};
  order.ranks = {{{{forward, 0, 11}, {}}, {{forward, 0, 3}, workloads::PipelineAction{backward, 0, 2}}},
                 {{{input_gradient, 1, 0}, {}}, {{weight_gradient, 1, 0}, {}}, {{backward, 1, 7}, {}}}};
  EXPECT_EQ(order.to_string(), "0F11,(0F3;0B2)OVERLAP_F_B\n1I0,1W0,1B7\n");
  EXPECT_EQ(order.cells(), 5) << "a pair is one cell";
}

TEST(ScheduleErrorText, NamesWhatIsAtFault) {
  const workloads::ScheduleError error("chunks", "3 is odd", "an even number");
  EXPECT_STREQ(error.what(), "chunks: 3 is odd; expected an even number");
  EXPECT_EQ(error.about(), "chunks");
  EXPECT_EQ(error.what_is_wrong(), "3 is odd");
  EXPECT_EQ(error.expected(), "an even number");
}

}  // namespace
}  // namespace lockstep
