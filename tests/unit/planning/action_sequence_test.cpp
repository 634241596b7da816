// A pipeline order as one sequence. Forward F(s, m) of stage s and microbatch m waits for F(s-1, m); a backward or an
// input gradient B(s, m) for F(s, m) and B(s+1, m); a weight gradient W(s, m) for the input gradient of (s, m); and
// every action for those that its rank does before it.
#include "sim/studies/planning/action_sequence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/unit/planning/small_space.hpp"
#include "workloads/step/step_pipeline.hpp"

namespace lockstep::test {
namespace {

using enum workloads::PipelineWork;

/// Orders of every schedule for few ranks P, microbatches M and chunks V.
std::vector<workloads::PipelineOrder> small_orders() {
  std::vector<workloads::PipelineOrder> orders;
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    const auto chunks =
        schedule.takes_chunks() ? std::vector<std::int32_t>{1, 2, 3} : std::vector{schedule.usual_chunks};
    for (std::int32_t ranks = 1; ranks <= 4; ++ranks) {
      for (std::int32_t microbatches = 1; microbatches <= 8; ++microbatches) {
        for (const auto each : chunks) {
          if (schedule.why_not(ranks, microbatches, each)) continue;
          workloads::ScheduleRequest request;
          request.name = schedule.name;
          request.ranks = ranks;
          request.microbatches = microbatches;
          request.chunks = each;
          orders.push_back(make_order(request));
        }
      }
    }
  }
  return orders;
}

std::string text(const workloads::PipelineOrder& order) {
  return order.schedule + " P" + std::to_string(order.shape.ranks) + " M" + std::to_string(order.shape.microbatches) +
         " V" + std::to_string(order.shape.chunks);
}

bool ends_gradients(workloads::PipelineWork work) { return work == backward || work == weight_gradient; }

TEST(ActionSequenceTest, WhatAnActionWaitsForStandsBeforeIt) {
  std::set<std::string> seen;
  for (const auto& order : small_orders()) {
    SCOPED_TRACE(text(order));
    seen.insert(order.schedule);
    const auto last_stage = order.shape.virtual_stages() - 1;
    std::set<std::tuple<workloads::PipelineWork, std::int32_t, std::int32_t>> done;
    const auto is_done = [&](workloads::PipelineWork work, std::int32_t stage, std::int32_t microbatch) {
      return done.contains({work, stage, microbatch});
    };
    for (const auto& action : planning::sequence_of(order).actions) {
      const auto stage = action.stage, microbatch = action.microbatch;
      EXPECT_EQ(order.shape.rank_of(stage, microbatch), action.rank);
      if (action.work == forward && stage > 0) {
        EXPECT_TRUE(is_done(forward, stage - 1, microbatch));
      } else if (action.work == backward || action.work == input_gradient) {
        EXPECT_TRUE(is_done(forward, stage, microbatch));
        EXPECT_TRUE(stage == last_stage || is_done(backward, stage + 1, microbatch) ||
                    is_done(input_gradient, stage + 1, microbatch));
      } else if (action.work == weight_gradient) {
        EXPECT_TRUE(is_done(input_gradient, stage, microbatch));
      }
      EXPECT_TRUE(done.emplace(action.work, stage, microbatch).second) << "twice";
    }
  }
  EXPECT_EQ(seen.size(), workloads::schedules().size());
}

TEST(ActionSequenceTest, KeepsTheOrderOfEveryRankAndTheHalvesOfItsPairs) {
  int pairs = 0;
  for (const auto& order : small_orders()) {
    SCOPED_TRACE(text(order));
    const auto sequence = planning::sequence_of(order);
    for (std::int32_t rank = 0; rank < order.shape.ranks; ++rank) {
      std::vector<std::pair<workloads::PipelineAction, int>> expected, found;
      for (const auto& cell : order.ranks[static_cast<std::size_t>(rank)]) {
        expected.emplace_back(cell.first, cell.second ? 1 : 0);
        if (cell.second) expected.emplace_back(*cell.second, 2);
      }
      for (const auto& action : sequence.actions) {
        if (action.rank == rank) found.push_back({{action.work, action.stage, action.microbatch}, action.half});
      }
      EXPECT_EQ(found, expected) << "rank " << rank;
    }
    // The bound computes a pair in two calls in a row.
    for (std::size_t i = 0; i < sequence.actions.size(); ++i) {
      if (sequence.actions[i].half != 1) continue;
      ++pairs;
      ASSERT_LT(i + 1, sequence.actions.size());
      EXPECT_EQ(sequence.actions[i + 1].half, 2);
      EXPECT_EQ(sequence.actions[i + 1].rank, sequence.actions[i].rank);
    }
  }
  EXPECT_GT(pairs, 0);
}

TEST(ActionSequenceTest, TheLastToEndGradientsIsMarkedOnceForEachRankAndVirtualStage) {
  for (const auto& order : small_orders()) {
    SCOPED_TRACE(text(order));
    const auto sequence = planning::sequence_of(order);
    std::map<std::pair<std::int32_t, std::int32_t>, std::vector<bool>> marks;
    for (const auto& action : sequence.actions) {
      if (ends_gradients(action.work)) {
        marks[{action.rank, action.stage}].push_back(action.last);
      } else {
        EXPECT_FALSE(action.last);
      }
    }
    for (const auto& [where, marked] : marks) {
      EXPECT_TRUE(marked.back());
      EXPECT_EQ(std::count(marked.begin(), marked.end(), true), 1);
    }
    // A bidirectional rank may have a virtual stage without microbatches.
    std::size_t stages = 0;
    for (std::int32_t rank = 0; rank < order.shape.ranks; ++rank) stages += order.shape.virtual_stages_of(rank).size();
    EXPECT_LE(marks.size(), stages);
    if (order.shape.microbatches > 1) {
      EXPECT_EQ(marks.size(), stages);
    }
  }
}

// F0 F1 ... of one rank: M forwards and M backwards in turns, the last of which ends the gradients.
TEST(ActionSequenceTest, WithoutAPipelineIsOneMicrobatchAfterTheOther) {
  const planning::PlanSpace space(
      SmallSpace{.search = "pipeline: [1, 2], zero: 0, recompute: none, schedules: gpipe"}.load());
  planning::SequenceBook book(space);
  const auto& actions = book.sequence(1, 3, {}).actions;
  std::string order;
  for (const auto& action : actions)
    order += std::string(name(action.work)) + std::to_string(action.microbatch) + (action.last ? "! " : " ");
  EXPECT_EQ(order, "F0 B0 F1 B1 F2 B2! ");
}

TEST(ActionSequenceTest, TheBookTakesTheSchedulesOfItsSpace) {
  const planning::PlanSpace space(
      SmallSpace{.search = "pipeline: [1, 2], zero: 0, recompute: none, schedules: [gpipe, interleaved], chunks: 2"}
          .load());
  planning::SequenceBook book(space);
  const auto backwards_after = [&](const planning::ScheduleChoice& choice) {
    int forwards = 0;
    for (const auto& action : book.sequence(2, 4, choice).actions) {
      if (action.work == backward && action.rank == 0) break;
      forwards += action.work == forward && action.rank == 0 ? 1 : 0;
    }
    return forwards;
  };
  EXPECT_EQ(backwards_after({0, 1}), 4);  // GPipe: all M forwards first
  // Interleaved 1F1B on rank 0 of P = 2 with V = 2: 2 (P - 1) + (V - 1) P = 4 forwards to warm up, and one before the
  // first backward.
  EXPECT_EQ(backwards_after({1, 2}), 5);
  EXPECT_EQ(book.sequence(2, 4, {1, 2}).shape.virtual_stages(), 4);
  EXPECT_EQ(&book.sequence(2, 4, {0, 1}), &book.sequence(2, 4, {0, 1}));
}

}  // namespace
}  // namespace lockstep::test
