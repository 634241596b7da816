#include "workloads/schedules/v_pattern.hpp"

#include <algorithm>

#include "workloads/schedules/v_shape.hpp"

namespace lockstep {
namespace {

using enum PipelineWork;

constexpr std::int32_t period = 6;

/// Rows of the table of slots: the four of VPattern, then weight gradients in the order of their input gradients.
enum Row : std::size_t { down, up, gradient_up, gradient_down, weight };
constexpr std::size_t rows = 5;
bool is_forward(std::size_t row) { return row <= up; }
bool is_gradient(std::size_t row) { return row == gradient_up || row == gradient_down; }

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

/// slots[row][n]: where a rank runs the n-th action of the row.
using Slots = std::array<std::vector<std::int32_t>, rows>;

struct Event {
  std::int32_t slot, rank;
  std::size_t row;
  std::int32_t index;
};

/// A slot of a rank has at most one event, so that putting each into its place sorts them.
std::vector<Event> by_slot(const Slots& slots, std::int32_t rank) {
  std::int32_t end = 0;
  for (const auto& row : slots) end = row.empty() ? end : std::max(end, row.back() + 1);
  std::vector<Event> events(at(end), Event{-1, rank, 0, 0});
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::int32_t i = 0; i < std::ssize(slots[row]); ++i) events[at(slots[row][at(i)])] = {slots[row][at(i)], rank, row, i};
  }
  std::erase_if(events, [](const Event& event) { return event.slot < 0; });
  return events;
}

/// Of events at the same slot, the first rank's first.
std::vector<Event> by_slot(const std::vector<Slots>& table) {
  std::vector<std::vector<Event>> ranks;
  std::size_t count = 0;
  for (std::int32_t rank = 0; rank < std::ssize(table); ++rank) {
    ranks.push_back(by_slot(table[at(rank)], rank));
    count += ranks.back().size();
  }
  std::vector<Event> events;
  std::vector<std::size_t> next(ranks.size(), 0);
  for (std::int32_t slot = 0; events.size() < count; ++slot) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (next[rank] < ranks[rank].size() && ranks[rank][next[rank]].slot == slot) events.push_back(ranks[rank][next[rank]++]);
    }
  }
  return events;
}

/// Every free slot takes a weight gradient that is due; what is left comes last.
void fill_with_weights(Slots& slots) {
  auto& weights = slots[weight];
  weights.clear();
  std::int32_t due = 0, slot = 0;
  for (const auto& event : by_slot(slots, 0)) {
    for (; slot < event.slot; ++slot) {
      if (due == 0) continue;
      weights.push_back(slot);
      --due;
    }
    ++slot;
    if (is_gradient(event.row)) ++due;
  }
  for (; due > 0; --due) weights.push_back(slot++);
}

/// What happens on a rank slot by slot, and how many activations it holds.
class MemoryOfRank {
 public:
  /// `weights_in_gaps`: weight gradients have no slots of their own yet; a free slot is worth one that is due.
  MemoryOfRank(std::int32_t slots, bool weights_in_gaps) : row_(at(slots), nothing), after_(at(slots)), weights_in_gaps_(weights_in_gaps) {}

  [[nodiscard]] bool free(std::int32_t slot) const { return row_[at(slot)] == nothing; }

  /// Most activations from a slot to another if the row's action stood on the first of them.
  [[nodiscard]] std::int32_t most(std::int32_t from, std::int32_t to, std::size_t row) const {
    auto state = step(before(from), row);
    std::int32_t most = state.held;
    for (auto slot = from + 1; slot <= to; ++slot) {
      state = step(state, row_[at(slot)]);
      most = std::max(most, state.held);
    }
    return most;
  }
  void put(std::int32_t slot, std::size_t row) {
    row_[at(slot)] = row;
    for (known_ = std::min(known_, slot); known_ <= slot; ++known_) after_[at(known_)] = step(before(known_), row_[at(known_)]);
  }
  /// Slots before this one are as they will be, apart from moves into them.
  void advance_to(std::int32_t slot) {
    for (; known_ < slot; ++known_) after_[at(known_)] = step(before(known_), row_[at(known_)]);
  }

 private:
  struct State {
    std::int32_t held = 0;
    std::int32_t due = 0;
  };
  static constexpr std::size_t nothing = rows;

  [[nodiscard]] State before(std::int32_t slot) const { return slot == 0 ? State{} : after_[at(slot - 1)]; }
  [[nodiscard]] State step(State state, std::size_t row) const {
    if (is_forward(row)) ++state.held;
    if (is_gradient(row)) ++state.due;
    if (row == weight || (weights_in_gaps_ && row == nothing && state.due > 0)) {
      --state.held;
      --state.due;
    }
    return state;
  }

  std::vector<std::size_t> row_;
  std::vector<State> after_;
  std::int32_t known_ = 0;
  bool weights_in_gaps_;
};

/// Moves actions to earlier free slots, as long as no rank comes to hold more than the worst one does at first.
class Reorder {
 public:
  Reorder(std::vector<Slots>& table, bool weights_in_gaps) : table_(table), weights_in_gaps_(weights_in_gaps), gradients_(table.size()) {
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
    const auto last_microbatch = static_cast<std::int32_t>(table_.front()[down].size()) - 1;
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
    const auto of = [&](std::int32_t other_rank, std::size_t other_row, std::int32_t other_index) { return table_[at(other_rank)][other_row][at(other_index)] + 1; };
    std::int32_t first = 0;
    if ((row == down || row == gradient_up) && rank > 0) first = std::max(first, of(rank - 1, row, index));
    if ((row == up || row == gradient_down) && rank + 1 < std::ssize(table_)) first = std::max(first, of(rank + 1, row, index));
    if (row == weight) first = std::max(first, gradients_[at(rank)][at(index)] + 1);
    else if (row != down) first = std::max(first, of(rank, row - 1, index));
    if (index > 0) first = std::max(first, of(rank, row, index - 1));
    return first;
  }
  [[nodiscard]] std::int32_t better_slot(const Event& event) {
    auto& rank = ranks_[at(event.rank)];
    rank.advance_to(event.slot);
    for (auto slot = first_slot(event); slot < event.slot; ++slot) {
      if (rank.free(slot) && rank.most(slot, event.slot, event.row) <= limit_) return slot;
    }
    return event.slot;
  }
  void place(const Event& event, std::int32_t slot) {
    auto& rank = ranks_[at(event.rank)];
    rank.advance_to(event.slot);
    rank.put(slot, event.row);
    rank.advance_to(event.slot + 1);
    table_[at(event.rank)][event.row][at(event.index)] = slot;
    if (is_gradient(event.row)) {
      auto& gradients = gradients_[at(event.rank)];
      gradients.insert(std::upper_bound(gradients.begin(), gradients.end(), slot), slot);
    }
  }

  std::vector<Slots>& table_;
  bool weights_in_gaps_;
  std::vector<std::vector<std::int32_t>> gradients_;  ///< of both chunks, by slot
  std::vector<MemoryOfRank> ranks_;
  std::int32_t limit_ = 0;
};

/// Of the weight gradients that are due, those of the chunk that comes back first go first.
PipelineOrder to_order(PipelineOrder order, const std::vector<Slots>& table) {
  for (std::int32_t rank = 0; rank < std::ssize(table); ++rank) {
    std::array<std::int32_t, 2> gradients{}, weights{};
    for (const auto& event : by_slot(table[at(rank)], rank)) {
      const auto add = [&](PipelineWork work, std::size_t chunk, std::int32_t microbatch) {
        order.ranks[at(rank)].push_back({{work, v_stage(order.shape, rank, chunk), microbatch}, {}});
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
void squeeze(std::vector<Slots>& table, const PipelineOrder& empty) {
  const auto timing = time_order(to_order(empty, table), {});
  for (std::int32_t rank = 0; rank < std::ssize(table); ++rank) {
    std::size_t cell = 0;
    for (const auto& event : by_slot(table[at(rank)], rank)) {
      table[at(rank)][event.row][at(event.index)] = static_cast<std::int32_t>(timing.spans[at(rank)][cell++].start);
    }
  }
}

void drop_weights(std::vector<Slots>& table) {
  for (auto& slots : table) slots[weight].clear();
}

void add_weights(std::vector<Slots>& table) {
  for (auto& slots : table) fill_with_weights(slots);
}

}  // namespace

PipelineOrder order_from_pattern(const ScheduleRequest& request, const std::vector<VPattern>& pattern) {
  const auto empty = empty_v_order(request);
  refuse_long_search(request);
  std::vector<Slots> table(pattern.size());
  for (std::size_t rank = 0; rank < pattern.size(); ++rank) {
    for (std::size_t row = 0; row < pattern[rank].size(); ++row) {
      for (std::int32_t m = 0; m < request.microbatches; ++m) table[rank][row].push_back(pattern[rank][row] + period * m);
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

}  // namespace lockstep
