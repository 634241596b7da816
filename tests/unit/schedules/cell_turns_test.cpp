// Cells in turn (cell_turns.hpp): ranks' programs of sends and receives without times, and without circles.
#include "workloads/pipeline/cell_turns.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep {
namespace {

using Made = std::tuple<bool, std::int32_t, std::int32_t>;  ///< forward or backward, stage, microbatch

/// What an action makes for the stage after it or before it; none if there is no such stage.
std::optional<Made> made_by(const workloads::PipelineShape& shape, const workloads::PipelineAction& action) {
  const bool forward = action.work == workloads::PipelineWork::forward;
  if (action.work == workloads::PipelineWork::weight_gradient ||
      (forward ? action.stage + 1 == shape.virtual_stages() : action.stage == 0))
    return {};
  return Made{forward, action.stage, action.microbatch};
}
std::optional<Made> needed_by(const workloads::PipelineShape& shape, const workloads::PipelineAction& action) {
  const bool forward = action.work == workloads::PipelineWork::forward;
  if (action.work == workloads::PipelineWork::weight_gradient ||
      (forward ? action.stage == 0 : action.stage + 1 == shape.virtual_stages()))
    return {};
  return Made{forward, action.stage + (forward ? -1 : 1), action.microbatch};
}
std::int32_t receiver_of(const workloads::PipelineShape& shape, const Made& made) {
  const auto [forward, stage, microbatch] = made;
  return shape.rank_of(stage + (forward ? 1 : -1), microbatch);
}
std::int32_t sender_of(const workloads::PipelineShape& shape, const Made& made) {
  return shape.rank_of(std::get<1>(made), std::get<2>(made));
}

/// Every schedule on sizes with a remainder, fewer microbatches than ranks, several chunks and groups.
template <class Visit>
int for_each_order(Visit visit) {
  int orders = 0;
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    for (std::int32_t ranks = 1; ranks <= 8; ++ranks) {
      for (const std::int32_t microbatches : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 17, 20, 24}) {
        for (std::int32_t chunks = 1; chunks <= 4; ++chunks) {
          for (const std::int32_t group : {0, 1, 2}) {
            workloads::ScheduleRequest request;
            request.name = schedule.name;
            request.ranks = ranks;
            request.microbatches = microbatches;
            request.chunks = chunks;
            if (group > 0) request.group = ranks + group * group;
            if (schedule.why_not(request)) continue;
            SCOPED_TRACE(request.name + " P" + std::to_string(ranks) + " M" + std::to_string(microbatches) + " V" +
                         std::to_string(chunks) + " N" + std::to_string(group));
            visit(make_order(request));
            ++orders;
          }
        }
      }
    }
  }
  return orders;
}

const workloads::PipelineCell& cell_at(const workloads::PipelineOrder& order, const workloads::CellPlace& place) {
  return order.ranks[static_cast<std::size_t>(place.rank)][static_cast<std::size_t>(place.index)];
}

// Turn after turn all ranks, rank 0 first, run one cell each if its inputs have been made.
std::vector<workloads::CellPlace> turn_after_turn(const workloads::PipelineOrder& order) {
  std::set<Made> made;
  std::vector<std::int32_t> next(order.ranks.size(), 0);
  std::vector<workloads::CellPlace> result;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::int32_t rank = 0; rank < std::ssize(order.ranks); ++rank) {
      auto& index = next[static_cast<std::size_t>(rank)];
      if (index == std::ssize(order.ranks[static_cast<std::size_t>(rank)])) continue;
      const auto& cell = cell_at(order, {rank, index});
      bool ready = true;
      for_each_action(cell, [&](const workloads::PipelineAction& action) {
        const auto need = needed_by(order.shape, action);
        ready = ready && (!need || made.contains(*need));
      });
      if (!ready) continue;
      for_each_action(cell, [&](const workloads::PipelineAction& action) {
        if (const auto makes = made_by(order.shape, action)) made.insert(*makes);
      });
      result.push_back({rank, index++});
      moved = true;
    }
  }
  return result;
}

TEST(CellsInTurn, AreThoseOfRanksThatTakeTurns) {
  const int orders = for_each_order([](const workloads::PipelineOrder& order) {
    const auto places = cells_in_turn(order);
    const auto wanted = turn_after_turn(order);
    ASSERT_EQ(static_cast<std::int64_t>(places.size()), order.cells());
    ASSERT_EQ(places.size(), wanted.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      ASSERT_EQ(places[i].rank, wanted[i].rank) << i;
      ASSERT_EQ(places[i].index, wanted[i].index) << i;
    }
  });
  EXPECT_GT(orders, 1500);
}

// Turn 0 takes microbatch 0 through all ranks, turn 1 microbatch 1; then backwards come up one rank a turn.
TEST(CellsInTurn, OfGpipeOnThreeRanks) {
  workloads::ScheduleRequest request;
  request.name = "gpipe";
  request.ranks = 3;
  request.microbatches = 2;
  const auto order = make_order(request);
  std::string text;
  for (const auto& place : cells_in_turn(order)) text += (text.empty() ? "" : " ") + cell_at(order, place).to_string();
  EXPECT_EQ(text, "0F0 1F0 2F0 0F1 1F1 2F1 2B0 1B0 2B1 0B0 1B1 0B1");
}

TEST(CellsInTurn, AnOrderThatNeverEndsIsRefused) {
  workloads::PipelineOrder order;
  order.shape = {workloads::StagePlacement::linear, 2, 1, 1};
  order.ranks = {{{{workloads::PipelineWork::backward, 0, 0}, {}}, {{workloads::PipelineWork::forward, 0, 0}, {}}},
                 {{{workloads::PipelineWork::forward, 1, 0}, {}}, {{workloads::PipelineWork::backward, 1, 0}, {}}}};
  EXPECT_THROW((void)cells_in_turn(order), workloads::ScheduleError);
}

/// Something in a rank's program: a cell, or a transfer that the other rank has in its program too.
struct Item {
  const workloads::PipelineCell* cell = nullptr;
  Made transfer;
};
using Programs = std::vector<std::vector<Item>>;

/// A send after the cell that makes it, in the receiver's program at the same moment.
Programs programs_in_turn(const workloads::PipelineOrder& order) {
  Programs programs(order.ranks.size());
  for (const auto& place : cells_in_turn(order)) {
    const auto& cell = cell_at(order, place);
    programs[static_cast<std::size_t>(place.rank)].push_back({&cell, {}});
    for_each_action(cell, [&](const workloads::PipelineAction& action) {
      const auto made = made_by(order.shape, action);
      if (!made || receiver_of(order.shape, *made) == place.rank) return;
      programs[static_cast<std::size_t>(place.rank)].push_back({nullptr, *made});
      programs[static_cast<std::size_t>(receiver_of(order.shape, *made))].push_back({nullptr, *made});
    });
  }
  return programs;
}

/// A receive before the cell that needs it, a send after the cell that makes it.
Programs programs_of_needs(const workloads::PipelineOrder& order) {
  Programs programs(order.ranks.size());
  for (std::size_t rank = 0; rank < order.ranks.size(); ++rank) {
    for (const auto& cell : order.ranks[rank]) {
      for_each_action(cell, [&](const workloads::PipelineAction& action) {
        const auto need = needed_by(order.shape, action);
        if (need && sender_of(order.shape, *need) != static_cast<std::int32_t>(rank))
          programs[rank].push_back({nullptr, *need});
      });
      programs[rank].push_back({&cell, {}});
      for_each_action(cell, [&](const workloads::PipelineAction& action) {
        const auto made = made_by(order.shape, action);
        if (made && receiver_of(order.shape, *made) != static_cast<std::int32_t>(rank))
          programs[rank].push_back({nullptr, *made});
      });
    }
  }
  return programs;
}

/// Whether ranks come to their ends that go through their programs strictly in order, a transfer only when both have
/// come to it: sends and receives that block. Adds failures for cells without their inputs.
bool ends(const workloads::PipelineOrder& order, const Programs& programs) {
  std::vector<std::size_t> next(programs.size(), 0);
  std::set<Made> made, received;
  const auto head = [&](std::int32_t rank) -> const Item* {
    const auto at = static_cast<std::size_t>(rank);
    return next[at] < programs[at].size() ? &programs[at][next[at]] : nullptr;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::int32_t rank = 0; rank < std::ssize(programs); ++rank) {
      for (const auto* item = head(rank); item != nullptr; item = head(rank)) {
        if (item->cell != nullptr) {
          for_each_action(*item->cell, [&](const workloads::PipelineAction& action) {
            if (const auto need = needed_by(order.shape, action)) {
              EXPECT_TRUE(sender_of(order.shape, *need) == rank ? made.contains(*need) : received.contains(*need))
                  << action.to_string();
            }
            if (const auto makes = made_by(order.shape, action)) made.insert(*makes);
          });
          ++next[static_cast<std::size_t>(rank)];
        } else {
          const auto sender = sender_of(order.shape, item->transfer),
                     receiver = receiver_of(order.shape, item->transfer);
          const auto* other = head(rank == sender ? receiver : sender);
          if (other == nullptr || other->cell != nullptr || other->transfer != item->transfer) break;
          received.insert(item->transfer);
          ++next[static_cast<std::size_t>(sender)];
          ++next[static_cast<std::size_t>(receiver)];
        }
        moved = true;
      }
    }
  }
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    if (next[rank] < programs[rank].size()) return false;
  }
  return true;
}

TEST(ProgramsInTurn, NeverWaitInACircle) {
  const int orders =
      for_each_order([](const workloads::PipelineOrder& order) { EXPECT_TRUE(ends(order, programs_in_turn(order))); });
  EXPECT_GT(orders, 1500);
}

// Why receives do not stand just before the cells that need them. 1F1B: one rank sends an activation while the next
// sends a gradient. Looped stages and M > P: the last rank sends to the first what that takes only after it has sent
// all M.
TEST(ProgramsInTurn, ReceivesAtTheLastMomentWouldWaitInACircle) {
  for (const std::string name : {"gpipe", "1f1b", "bfs"}) {
    workloads::ScheduleRequest request;
    request.name = name;
    request.ranks = 4;
    request.microbatches = 8;
    const auto order = make_order(request);
    EXPECT_EQ(ends(order, programs_of_needs(order)), name == "gpipe") << name;
  }
}

}  // namespace
}  // namespace lockstep
