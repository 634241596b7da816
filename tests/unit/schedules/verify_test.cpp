// An order is sound if every microbatch has, on every stage, one forward and one whole backward (or one input and
// one weight gradient), on the rank that holds the stage, after what they need; and if no ranks wait for each other
// in a circle. Each case breaks one of these rules in an order that is sound but for it.
#include "workloads/pipeline/verify_order.hpp"

#include <gtest/gtest.h>

#include "tests/unit/schedules/order_text.hpp"
#include "workloads/pipeline/pipeline_timing.hpp"

namespace lockstep {
namespace {

using enum workloads::StagePlacement;

/// "0/2 what [expected]" for each problem, rank and cell in front.
std::vector<std::string> problems_of(const workloads::PipelineOrder& order) {
  std::vector<std::string> result;
  for (const auto& problem : verify_order(order)) {
    result.push_back(std::to_string(problem.rank) + "/" + std::to_string(problem.index) + " " + problem.what + " [" +
                     problem.expected + "]");
  }
  return result;
}

using Texts = std::vector<std::string>;

TEST(VerifyOrder, SoundOrdersHaveNoProblem) {
  EXPECT_EQ(problems_of(order_of(linear, 1, 2, {"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"})), Texts{});
  EXPECT_EQ(problems_of(order_of(linear, 1, 2, {"0F0 0F1 0I0 0I1 0W1 0W0", "1F0 1I0 1F1 1I1 1W0 1W1"})), Texts{});
  EXPECT_EQ(problems_of(order_of(v, 2, 1, {"0F0 3F0 3B0 0B0", "1F0 2F0 2B0 1B0"})), Texts{});
  // Both directions: microbatch 0 from rank 0 to rank 1, microbatch 1 from rank 1 to rank 0.
  EXPECT_EQ(problems_of(order_of(bidirectional, 1, 2, {"0F0 1F1 1B1 0B0", "0F1 1F0 1B0 0B1"})), Texts{});
  EXPECT_EQ(problems_of(order_of(linear, 1, 2, {"0F0 (0F1;0B0) 0B1"})), Texts{});
}

// 2 stages x 2 microbatches x (forward, backward) = 8 actions; each of the ten ways to leave one out or have it twice
// is named.
TEST(VerifyOrder, EveryActionOnce) {
  EXPECT_EQ(problems_of(order_of(linear, 1, 2, {"0F0 0F1 0B0 0B1", "1F0 1B0 1B1"})),
            (Texts{"1/2 1B1 has no forward [1F1 before it]"}));
  EXPECT_EQ(problems_of(order_of(linear, 1, 2, {"0F0 0F1 0B0", "1F0 1B0 1F1 1B1"})),
            (Texts{"0/1 0F1 has no backward [0B1, or 0I1 and 0W1, after it]"}));
  EXPECT_EQ(problems_of(order_of(linear, 1, 1, {"0F0 0I0"})), (Texts{"0/1 0I0 has no weight gradient [0W0 after it]"}));
  EXPECT_EQ(problems_of(order_of(linear, 1, 1, {"0F0 0W0"})), (Texts{"0/1 0W0 has no input gradient [0I0 before it]"}));
  EXPECT_EQ(
      problems_of(order_of(linear, 1, 1, {"0F0 0B0 0F0"})),
      (Texts{
          "0/2 0F0 repeats what came before [one 0F0, and one whole backward or one input and one weight gradient]"}));
  // A whole backward contains both gradients.
  EXPECT_EQ(
      problems_of(order_of(linear, 1, 1, {"0F0 0B0 0W0"})),
      (Texts{
          "0/2 0W0 repeats what came before [one 0F0, and one whole backward or one input and one weight gradient]"}));
  EXPECT_EQ(
      problems_of(order_of(linear, 1, 1, {"0F0 0I0 0B0"})),
      (Texts{
          "0/2 0B0 repeats what came before [one 0F0, and one whole backward or one input and one weight gradient]"}));
}

TEST(VerifyOrder, GapsAreNamedAsAWhole) {
  EXPECT_EQ(problems_of(order_of(linear, 1, 4, {"0F0 0B0 0F3 0B3"})),
            (Texts{"0/2 no cell of microbatch 1 to 2 [cells of all microbatches, 0 to 3]"}));
  EXPECT_EQ(problems_of(order_of(linear, 1, 1, {"0F0 0B0", "", "2F0 2B0"})),
            (Texts{"1/-1 no cell of virtual stage 1 [cells of all virtual stages, 0 to 2]"}));
  EXPECT_EQ(problems_of(order_of(linear, 1, 2, {"0F0 0B0 0F1 0B1", "1F0 1B0", "2F0 2B0"})),
            (Texts{"0/2 microbatch 1 is here, but has no cell on virtual stage 1 to 2 [every microbatch on every "
                   "virtual stage, or "
                   "on none]"}));
}

TEST(VerifyOrder, StagesStandWhereThePlacementSays) {
  const auto v_order = order_of(v, 2, 1, {"0F0 3F0 3B0 0B0", "1F0 2F0 2B0 1B0"});
  auto as_loop = v_order;
  as_loop.shape.placement = loop;
  EXPECT_EQ(problems_of(as_loop),
            (Texts{"0/1 3F0 is on rank 0, but with placement loop virtual stage 3 of microbatch 0 is "
                   "on rank 1 [it on rank 1, or another placement]",
                   "1/1 2F0 is on rank 1, but with placement loop virtual stage 2 of microbatch 0 is "
                   "on rank 0 [it on rank 0, or another placement]"}));
  EXPECT_EQ(problems_of(order_of(linear, 1, 1, {"0F0 0B0 1F0 1B0"})),
            (Texts{"0/2 1F0 does not exist [virtual stages 0 to 0 and microbatches 0 to 0]",
                   "0/3 1B0 does not exist [virtual stages 0 to 0 and microbatches 0 to 0]"}));
}

// On its own rank nothing stands before what it needs: B needs F; W needs I; in a V, F of the stage below.
TEST(VerifyOrder, NeedsOfTheSameRankComeFirst) {
  EXPECT_EQ(problems_of(order_of(linear, 1, 1, {"0B0 0F0"})),
            (Texts{"0/0 0B0 comes before 0F0, which it needs [0F0 in an earlier cell of the rank]"}));
  EXPECT_EQ(problems_of(order_of(linear, 1, 1, {"0F0 0W0 0I0"})),
            (Texts{"0/1 0W0 comes before 0I0, which it needs [0I0 in an earlier cell of the rank]"}));
  EXPECT_EQ(problems_of(order_of(v, 2, 1, {"0F0 1F0 0B0 1B0"})),
            (Texts{"0/2 0B0 comes before 1B0, which it needs [1B0 in an earlier cell of the rank]"}));
  EXPECT_EQ(problems_of(order_of(linear, 1, 1, {"(0F0;0B0)"})),
            (Texts{"0/0 0B0 overlaps with 0F0, which it needs [0F0 in an earlier cell of the rank]"}));
}

TEST(VerifyOrder, PairsAreAForwardAndABackward) {
  EXPECT_EQ(
      problems_of(order_of(linear, 1, 2, {"(0F0;0F1) 0B0 0B1"})),
      (Texts{"0/0 only a forward and a backward can overlap [one forward and one whole backward or input gradient]"}));
  EXPECT_EQ(
      problems_of(order_of(linear, 1, 2, {"0F0 0I0 (0F1;0W0) 0B1"})),
      (Texts{"0/2 only a forward and a backward can overlap [one forward and one whole backward or input gradient]"}));
}

// Rank 0 wants the gradient of microbatch 1 before it sends microbatch 0's activation; rank 1 the other way round.
TEST(VerifyOrder, CircleOfWaitsIsSpelledOut) {
  EXPECT_EQ(problems_of(order_of(linear, 1, 2, {"0F1 0B1 0F0 0B0", "1F0 1B0 1F1 1B1"})),
            (Texts{"0/1 deadlock: rank 0 waits at 0B1 for 1B1 on rank 1, which waits at 1F0 for 0F0 on rank 0, which "
                   "comes after 0B1 "
                   "[an order in which no ranks wait for each other in a circle]"}));
  // Ranks 1 and 2 hold each other up; rank 0 waits for them but is no part of the circle.
  EXPECT_EQ(problems_of(order_of(linear, 1, 2, {"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1", "2F1 2B1 2F0 2B0"})),
            (Texts{"1/1 deadlock: rank 1 waits at 1B0 for 2B0 on rank 2, which waits at 2F1 for 1F1 on rank 1, which "
                   "comes after 1B0 "
                   "[an order in which no ranks wait for each other in a circle]"}));
  // A pair waits for both halves, and neither half is there before the other.
  EXPECT_EQ(problems_of(order_of(linear, 1, 2, {"0F0 (0F1;0B0) 0B1", "1F0 1F1 1B0 1B1"})),
            (Texts{"0/1 deadlock: rank 0 waits at (0F1;0B0)OVERLAP_F_B for 1B0 on rank 1, which waits at 1F1 for 0F1 "
                   "on rank 0, where the circle closes [an order in which no ranks wait for each other in a circle]"}));
}

// 16 ranks, two loops: every rank wants its second stage first, which needs the second stage of the rank before; on
// rank 0, the first stage of rank 15. Twelve of the waits are told.
TEST(VerifyOrder, LongCirclesAreShortened) {
  std::vector<std::string> rows;
  for (int rank = 0; rank < 16; ++rank) {
    const auto below = std::to_string(rank), above = std::to_string(rank + 16);
    rows.push_back(above + "F0 " + below + "F0 " + above + "B0 " + below + "B0");
  }
  const auto problems = verify_order(order_of(loop, 2, 1, rows));
  ASSERT_EQ(problems.size(), 1U);
  std::string told = "deadlock: rank 0 waits at 16F0 for 15F0 on rank 15";
  for (int rank = 15; rank > 5; --rank) {
    told += ", which waits at " + std::to_string(rank + 16) + "F0 for " + std::to_string(rank + 15) + "F0 on rank " +
            std::to_string(rank - 1);
  }
  EXPECT_EQ(
      problems[0].what,
      told +
          ", and so on over 4 more ranks to rank 1, which waits at 17F0 for 16F0 on rank 0, where the circle closes");
}

TEST(VerifyOrder, SizesThatTheOrderCannotHaveAreRefusedBeforeMemoryIsSpent) {
  auto order = order_of(linear, 1, 1, {"0F0 0B0"});
  order.shape.microbatches = 2'000'000'000;
  EXPECT_EQ(problems_of(order),
            (Texts{"0/0 1 virtual stages and 2000000000 microbatches are far more than the 2 cells there "
                   "are [a forward and a backward of every microbatch on every virtual stage]"}));
  order.shape = {linear, 2'000'000, 2'000'000, 1};
  EXPECT_EQ(problems_of(order),
            (Texts{"-1/-1 the shape does not fit the order [at least one virtual stage and microbatch, and "
                   "as many ranks as the order has]"}));
  order.shape = {linear, 1, 1, 0};
  EXPECT_EQ(verify_order(order).size(), 1U);
}

TEST(VerifyOrder, ListOfProblemsStaysShort) {
  std::string row;
  for (int m = 0; m < 100; ++m) row += "0F" + std::to_string(m) + " ";
  const auto problems = verify_order(order_of(linear, 1, 100, {row}));
  ASSERT_EQ(problems.size(), 21U);
  EXPECT_EQ(problems.back().what, "and 80 more problems");
}

/// 1F1B by its rule: rank r begins with P - r forwards, then backwards and forwards by turns.
workloads::PipelineOrder one_f_one_b(std::int32_t ranks, std::int32_t microbatches) {
  workloads::PipelineOrder order;
  order.shape = {linear, ranks, 1, microbatches};
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    auto& cells = order.ranks.emplace_back();
    for (std::int32_t step = 0; step < microbatches + ranks - rank; ++step) {
      if (step >= ranks - rank) cells.push_back({{workloads::PipelineWork::backward, rank, step - (ranks - rank)}, {}});
      if (step < microbatches) cells.push_back({{workloads::PipelineWork::forward, rank, step}, {}});
    }
  }
  return order;
}

// Verdict and timing agree: whatever two neighbours of a rank's order change places, the order is sound exactly if
// it comes to its end and no rank's own needs are turned round.
TEST(VerifyOrder, AgreesWithTiming) {
  const auto sound = one_f_one_b(4, 6);
  ASSERT_EQ(problems_of(sound), Texts{});
  int refused = 0;
  for (auto& cells : {0U, 1U, 2U, 3U}) {
    for (std::size_t i = 0; i + 1 < sound.ranks[cells].size(); ++i) {
      auto order = sound;
      std::swap(order.ranks[cells][i], order.ranks[cells][i + 1]);
      const bool is_sound = verify_order(order).empty();
      refused += is_sound ? 0 : 1;
      bool ends = true;
      try {
        (void)time_order(order, {});
      } catch (const workloads::ScheduleError&) {
        ends = false;
      }
      EXPECT_EQ(is_sound, ends) << order.to_string();
    }
  }
  EXPECT_GT(refused, 0);
}

// 2 x 64 x 4096 = 524288 actions.
TEST(VerifyOrder, LargeOrders) { EXPECT_EQ(problems_of(one_f_one_b(64, 4096)), Texts{}); }

}  // namespace
}  // namespace lockstep
