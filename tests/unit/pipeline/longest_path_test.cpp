// Timing as a longest path. Start of a cell = max(end of the cell before it on its rank, end of what it needs + c where
// that stands on another rank); end = start + its time. Here the starts are found by relaxation, with no notion of who
// runs when: raised until no cell starts before what it waits for. time_order must find the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "tests/unit/pipeline/every_order.hpp"
#include "workloads/pipeline/action_places.hpp"
#include "workloads/pipeline/cell_turns.hpp"

namespace lockstep::test {
namespace {

using Where = std::pair<std::size_t, std::size_t>;  ///< rank, index
using Step = std::tuple<workloads::PipelineStep, std::int32_t, std::int32_t>;

/// The cell that does each step.
std::map<Step, Where> makers_of(const workloads::PipelineOrder& order) {
  std::map<Step, Where> makers;
  for (std::size_t rank = 0; rank < order.ranks.size(); ++rank) {
    for (std::size_t index = 0; index < order.ranks[rank].size(); ++index) {
      for_each_action(order.ranks[rank][index], [&](const workloads::PipelineAction& action) {
        for_each_step(action.work, [&](workloads::PipelineStep step) {
          makers[{step, action.stage, action.microbatch}] = {rank, index};
        });
      });
    }
  }
  return makers;
}

/// Cells that a cell needs, each with the latency on the way.
std::vector<std::pair<Where, double>> needs_of(const workloads::PipelineOrder& order,
                                               const std::map<Step, Where>& makers, const Where& where,
                                               double latency) {
  std::vector<std::pair<Where, double>> needs;
  for_each_action(order.ranks[where.first][where.second], [&](const workloads::PipelineAction& action) {
    for_each_need(action, order.shape, [&](const workloads::PipelineNeed& need) {
      const auto maker = makers.at({need.step, need.stage, need.microbatch});
      needs.emplace_back(maker, maker.first == where.first ? 0 : latency);
    });
  });
  return needs;
}

std::vector<std::vector<double>> starts_by_relaxation(const workloads::PipelineOrder& order,
                                                      const workloads::PipelineTimes& times) {
  const auto makers = makers_of(order);
  std::vector<std::vector<double>> starts;
  std::map<Where, std::vector<std::pair<Where, double>>> needs;
  for (std::size_t rank = 0; rank < order.ranks.size(); ++rank) {
    starts.emplace_back(order.ranks[rank].size(), 0.0);
    for (std::size_t index = 0; index < order.ranks[rank].size(); ++index)
      needs[{rank, index}] = needs_of(order, makers, {rank, index}, times.latency);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t rank = 0; rank < starts.size(); ++rank) {
      for (std::size_t index = 0; index < starts[rank].size(); ++index) {
        auto& start = starts[rank][index];
        double earliest = index == 0 ? 0 : starts[rank][index - 1] + times.of(order.ranks[rank][index - 1]);
        for (const auto& [maker, latency] : needs.at({rank, index})) {
          const auto& cell = order.ranks[maker.first][maker.second];
          earliest = std::max(earliest, starts[maker.first][maker.second] + times.of(cell) + latency);
        }
        changed = changed || earliest > start;
        start = std::max(start, earliest);
      }
    }
  }
  return starts;
}

TEST(LongestPath, IsWhenCellsOfEveryScheduleStart) {
  int orders = 0;
  for_each_request([&](const workloads::ScheduleRequest& request) {
    if (request.ranks > 4 || request.microbatches > 8) return;
    ++orders;
    const auto order = make_order(request);
    const auto times = times_that_differ(order.shape.virtual_stages(), 0.375);
    const auto timing = time_order(order, times);
    const auto starts = starts_by_relaxation(order, times);
    for (std::size_t rank = 0; rank < starts.size(); ++rank) {
      const auto& spans = timing.spans[rank];
      ASSERT_DOUBLE_EQ(timing.bubble_step[rank], timing.makespan - timing.busy[rank]);
      ASSERT_DOUBLE_EQ(timing.bubble_span[rank], spans.back().end - spans.front().start - timing.busy[rank]);
      ASSERT_LE(spans.back().end, timing.makespan);
      for (std::size_t index = 0; index < starts[rank].size(); ++index)
        ASSERT_DOUBLE_EQ(timing.spans[rank][index].start, starts[rank][index]) << "rank " << rank << " cell " << index;
    }
  });
  EXPECT_GT(orders, 300);
}

// In a fixed order nothing that takes longer lets anything start sooner: a longest path grows with its edges.
TEST(LongestPath, GrowsWithEveryTimeAndWithLatency) {
  for_each_request([](const workloads::ScheduleRequest& request) {
    if (request.microbatches > 6) return;
    const auto order = make_order(request);
    const auto times = times_that_differ(order.shape.virtual_stages(), 0.25);
    const double before = time_order(order, times).makespan;
    for (std::int32_t stage = 0; stage < order.shape.virtual_stages(); ++stage) {
      auto longer = times;
      longer.stages[static_cast<std::size_t>(stage)].forward += 0.5;
      ASSERT_GE(time_order(order, longer).makespan, before);
    }
    auto later = times;
    later.latency += 1;
    const double with_latency = time_order(order, later).makespan;
    ASSERT_GE(with_latency, before);
    if (request.ranks == 1) {
      ASSERT_DOUBLE_EQ(with_latency, before) << "nothing is sent";
    }
    // A microbatch's way there and back: all forwards and input gradients, its hops, and stage 0's weight gradient.
    double way = later.of(0).weight_gradient;
    for (std::int32_t stage = 0; stage < order.shape.virtual_stages(); ++stage) {
      way += later.of(stage).forward + later.of(stage).input_gradient;
      const bool hops = stage > 0 && order.shape.rank_of(stage, 0) != order.shape.rank_of(stage - 1, 0);
      way += hops ? 2 * later.latency : 0;
    }
    ASSERT_GE(with_latency, way - 1e-9);
  });
}

// All times and the latency doubled: every start doubled, exactly (powers of two).
TEST(LongestPath, HasNoUnit) {
  for_each_request([](const workloads::ScheduleRequest& request) {
    const auto order = make_order(request);
    auto times = times_that_differ(order.shape.virtual_stages(), 0.375);
    const auto timing = time_order(order, times);
    for (auto& stage : times.stages) {
      stage.forward *= 2;
      stage.input_gradient *= 2;
      stage.weight_gradient *= 2;
    }
    times.latency *= 2;
    const auto doubled = time_order(order, times);
    ASSERT_EQ(doubled.makespan, 2 * timing.makespan);
    for (std::size_t rank = 0; rank < timing.busy.size(); ++rank) {
      ASSERT_EQ(doubled.busy[rank], 2 * timing.busy[rank]);
      ASSERT_EQ(doubled.bubble_span[rank], 2 * timing.bubble_span[rank]);
    }
  });
}

// by_start lists every cell once, by rising start, after all that it needs.
TEST(LongestPath, CellsByStartAreATopologicalOrder) {
  for_each_request([](const workloads::ScheduleRequest& request) {
    const auto order = make_order(request);
    const auto timing = time_order(order, times_that_differ(order.shape.virtual_stages(), 0));
    const auto makers = makers_of(order);
    std::map<Where, std::size_t> turn;
    double last = 0;
    for (const auto& [rank, index] : timing.by_start) {
      const Where where{static_cast<std::size_t>(rank), static_cast<std::size_t>(index)};
      const double start = timing.spans[where.first][where.second].start;
      ASSERT_GE(start, last);
      last = start;
      ASSERT_TRUE(turn.emplace(where, turn.size()).second) << "a cell stands twice";
    }
    ASSERT_EQ(std::ssize(timing.by_start), order.cells());
    for (const auto& [where, at] : turn) {
      for (const auto& [maker, latency] : needs_of(order, makers, where, 0)) {
        ASSERT_TRUE(maker == where || turn.at(maker) < at);
      }
    }
  });
}

// cells_in_turn is such an order too, without times: by rank in the rank's order, and after all that each needs.
TEST(CellTurns, AreATopologicalOrderOfEverySchedule) {
  for_each_request([](const workloads::ScheduleRequest& request) {
    const auto order = make_order(request);
    const auto makers = makers_of(order);
    std::map<Where, std::size_t> turn;
    std::vector<std::size_t> next(order.ranks.size(), 0);
    for (const auto& place : cells_in_turn(order)) {
      const Where where{static_cast<std::size_t>(place.rank), static_cast<std::size_t>(place.index)};
      ASSERT_EQ(next[where.first]++, where.second);
      for (const auto& [maker, latency] : needs_of(order, makers, where, 0)) {
        ASSERT_TRUE(maker == where || turn.contains(maker));
      }
      turn.emplace(where, turn.size());
    }
    ASSERT_EQ(std::ssize(turn), order.cells());
  });
}

// Activations at hand, counted along the rank's cells by their definition: forwards begun minus gradients that ended
// before. A pair's forward begins before its backward ends.
TEST(HeldActivations, AreForwardsBegunLessGradientsEnded) {
  for_each_request([](const workloads::ScheduleRequest& request) {
    const auto order = make_order(request);
    const auto held = held_activations(order);
    for (std::size_t rank = 0; rank < order.ranks.size(); ++rank) {
      const auto& cells = order.ranks[rank];
      const auto many = [&](std::size_t cells_counted, std::initializer_list<workloads::PipelineWork> works) {
        std::int32_t count = 0;
        for (std::size_t i = 0; i < cells_counted; ++i) {
          for_each_action(cells[i], [&](const workloads::PipelineAction& action) {
            count += std::find(works.begin(), works.end(), action.work) != works.end() ? 1 : 0;
          });
        }
        return count;
      };
      std::int32_t input = 0, weight = 0;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const auto begun = many(i + 1, {workloads::PipelineWork::forward});
        input = std::max(input,
                         begun - many(i, {workloads::PipelineWork::backward, workloads::PipelineWork::input_gradient}));
        weight = std::max(
            weight, begun - many(i, {workloads::PipelineWork::backward, workloads::PipelineWork::weight_gradient}));
      }
      ASSERT_EQ(held.until_input_gradient[rank], input);
      ASSERT_EQ(held.until_weight_gradient[rank], weight);
      ASSERT_LE(input, weight) << "a weight gradient ends after its input gradient";
    }
  });
}

TEST(PipelineTimes, OfAPairAreItsOwnOrItsHalves) {
  workloads::PipelineTimes times;
  times.stages = {{1, 2, 4}, {8, 16, 32}};
  const workloads::PipelineAction forward{workloads::PipelineWork::forward, 1, 0},
      backward{workloads::PipelineWork::backward, 0, 0};
  EXPECT_EQ(times.of(forward), 8);
  EXPECT_EQ(times.of(backward), 2 + 4);
  EXPECT_EQ(times.of(workloads::PipelineAction{workloads::PipelineWork::input_gradient, 0, 5}), 2);
  EXPECT_EQ(times.of(workloads::PipelineAction{workloads::PipelineWork::weight_gradient, 1, 5}), 32);
  EXPECT_EQ(times.of(workloads::PipelineCell{forward, backward}), 8 + 6);
  times.pair = 9.5;
  EXPECT_EQ(times.of(workloads::PipelineCell{forward, backward}), 9.5);
  EXPECT_EQ(times.of(workloads::PipelineCell{forward, {}}), 8) << "no pair";
  times.stages = {{3, 0, 0}};
  EXPECT_EQ(times.of(forward), 3) << "one for all stages";
}

}  // namespace
}  // namespace lockstep::test
