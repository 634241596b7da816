#include "workloads/pipeline/schedules/v_pattern.hpp"

#include <algorithm>

#include "workloads/pipeline/schedules/v_pattern_slots.hpp"
#include "workloads/pipeline/schedules/v_shape.hpp"

namespace lockstep::workloads {
namespace {

using enum PipelineWork;
using namespace v_slots;

constexpr std::int32_t period = 6;

/// Moves actions to earlier free slots, as long as no rank comes to hold more than the worst one does at first.
class Reorder {
 public:
  Reorder(Table& table, bool weights_in_gaps)
      : table_(table), weights_in_gaps_(weights_in_gaps), gradients_(table.size()) {
    for (const auto& slots : table) {
      const auto events = by_slot(slots, 0);
      const auto end = events.back().slot + 1;
      MemoryOfRank whole(end, weights_in_gaps);
      for (const auto& event : events) {
        whole.advance_to(event.slot);
        limit_ = std::max(limit_, whole.most(event.slot, event.slot, event.row));
        whole.put(event.slot, event.row);
      }
      ranks_.emplace_back(end, weights_in_gaps);
    }
  }

  void run() {
    enum { warm_up, steady, drain } phase = warm_up;
    const auto last_microbatch = table_.front()[down].count() - 1;
    for (const auto& event : by_slot(table_)) {
      if (event.row == gradient_down && event.rank == 0 && phase == warm_up) phase = steady;
      const bool moves = phase == drain || (phase == warm_up && !weights_in_gaps_);
      if (phase == steady && event.row == down && event.index == last_microbatch) phase = drain;
      place(event, moves ? better_slot(event) : event.slot);
    }
  }

 private:
  /// The first slot after everything that the action waits for.
  [[nodiscard]] std::int32_t first_slot(const Event& event) const {
    const auto [slot, rank, row, index] = event;
    const auto of = [&](std::int32_t other_rank, std::size_t other_row, std::int32_t other_index) {
      return table_[other_rank][other_row][other_index] + 1;
    };
    std::int32_t first = 0;
    if ((row == down || row == gradient_up) && rank > 0) first = std::max(first, of(rank - 1, row, index));
    if ((row == up || row == gradient_down) && table_.contains(rank + 1))
      first = std::max(first, of(rank + 1, row, index));
    if (row == weight)
      first = std::max(first, gradients_[rank][index] + 1);
    else if (row != down)
      first = std::max(first, of(rank, row - 1, index));
    if (index > 0) first = std::max(first, of(rank, row, index - 1));
    return first;
  }
  [[nodiscard]] std::int32_t better_slot(const Event& event) {
    auto& rank = ranks_[event.rank];
    rank.advance_to(event.slot);
    for (auto slot = first_slot(event); slot < event.slot; ++slot) {
      if (rank.free(slot) && rank.most(slot, event.slot, event.row) <= limit_) return slot;
    }
    return event.slot;
  }
  void place(const Event& event, std::int32_t slot) {
    auto& rank = ranks_[event.rank];
    rank.advance_to(event.slot);
    rank.put(slot, event.row);
    rank.advance_to(event.slot + 1);
    table_[event.rank][event.row][event.index] = slot;
    if (is_gradient(event.row)) {
      auto& gradients = gradients_[event.rank];
      gradients.insert(std::upper_bound(gradients.begin(), gradients.end(), slot), slot);
    }
  }

  Table& table_;
  bool weights_in_gaps_;
  Indexed<StageId, Indexed<std::int32_t, std::int32_t>> gradients_;  ///< of both chunks, by slot
  Indexed<StageId, MemoryOfRank> ranks_;
  std::int32_t limit_ = 0;
};

/// Among the weight gradients that are due, those of the chunk that comes back first go first.
PipelineOrder to_order(PipelineOrder order, const Table& table) {
  for (const StageId rank : table.ids()) {
    std::array<std::int32_t, 2> gradients{}, weights{};
    for (const auto& event : by_slot(table[rank], rank)) {
      const auto add = [&](PipelineWork work, std::size_t chunk, std::int32_t microbatch) {
        order.ranks[rank].push_back({{work, v_stage(order.shape, rank, chunk), microbatch}, {}});
      };
      if (event.row == weight) {
        const std::size_t chunk = weights[1] < gradients[1] ? 1 : 0;
        add(weight_gradient, chunk, weights[chunk]++);
      } else {
        const std::size_t chunk = event.row == down || event.row == gradient_down ? 0 : 1;
        if (is_gradient(event.row)) ++gradients[chunk];
        add(is_forward(event.row) ? forward : input_gradient, chunk, event.index);
      }
    }
  }
  return order;
}

/// The slots at which the actions would run one after the other without waiting for their slots.
void squeeze(Table& table, const PipelineOrder& empty) {
  const auto timing = time_order(to_order(empty, table), {});
  for (const StageId rank : table.ids()) {
    std::size_t cell = 0;
    for (const auto& event : by_slot(table[rank], rank)) {
      table[rank][event.row][event.index] = static_cast<std::int32_t>(timing.spans[rank][cell++].start);
    }
  }
}

void drop_weights(Table& table) {
  for (auto& slots : table) slots[weight].clear();
}

void add_weights(Table& table) {
  for (auto& slots : table) fill_with_weights(slots);
}

}  // namespace

std::optional<ScheduleProblem> long_search_rule(const ScheduleRequest& request) {
  constexpr std::int32_t most_ranks = 256;
  if (request.ranks <= most_ranks) return {};
  return ScheduleProblem{"stages",
                         request.name + " on " + std::to_string(request.ranks) + " ranks takes too long to work out",
                         "at most " + std::to_string(most_ranks) + " ranks"};
}

PipelineOrder order_from_pattern(const ScheduleRequest& request, const std::vector<VPattern>& pattern) {
  const auto empty = empty_v_order(request);
  Table table(pattern.size());
  for (std::size_t rank = 0; rank < pattern.size(); ++rank) {
    for (std::size_t row = 0; row < pattern[rank].size(); ++row) {
      for (std::int32_t m = 0; m < request.microbatches; ++m)
        table[rank][row].push_back(pattern[rank][row] + period * m);
    }
  }
  // First with the weight gradients in place; then they make room, and only the drain is left to improve.
  add_weights(table);
  Reorder(table, false).run();
  squeeze(table, empty);
  drop_weights(table);
  Reorder(table, true).run();
  add_weights(table);
  squeeze(table, empty);
  drop_weights(table);
  add_weights(table);
  return to_order(empty, table);
}

}  // namespace lockstep::workloads
