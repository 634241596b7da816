#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "workloads/pipeline/schedules/v_shape.hpp"

namespace lockstep::workloads {
namespace {

using enum PipelineWork;

/// Every microbatch takes six slots of a rank: a forward and a backward on each chunk, backwards two slots long.
constexpr std::int32_t period = 6;

/// Rows of a rank, in the order a microbatch passes them.
enum Row : std::size_t { down, up, backward_up, backward_down };
constexpr std::array rows{down, up, backward_up, backward_down};
bool is_forward(std::size_t row) { return row <= up; }
/// Whether microbatches come to this row from rank 0 on.
bool from_first_rank(std::size_t row) { return row == down || row == backward_up; }

using Pattern = std::array<std::int32_t, 4>;
using Patterns = Indexed<StageId, Pattern>;

std::int32_t rank_in_turn(std::size_t row, std::int32_t i, std::int32_t ranks) {
  return from_first_rank(row) ? i : ranks - 1 - i;
}

/// The slot of a period, for every rank and row, that no other row of the rank takes.
Patterns pattern_of(std::int32_t ranks) {
  Patterns pattern(ranks);
  std::int32_t slot = 1;
  for (const auto row : {down, up}) {
    for (std::int32_t i = 0; i < ranks; ++i) pattern[rank_in_turn(row, i, ranks)][row] = slot++ % period;
  }
  // Backwards follow each other by two slots, and every third waits three more to stay clear of forwards.
  if (ranks % 3 == 0) slot += 3;
  std::int32_t third = (3 - (ranks + 2) % 3) % 3;
  for (const auto row : {backward_up, backward_down}) {
    for (std::int32_t i = 0; i < ranks; ++i) {
      pattern[rank_in_turn(row, i, ranks)][row] = slot % period;
      slot += 2;
      if (++third == 3) {
        third = 0;
        slot += 3;
      }
    }
  }
  return pattern;
}

/// first[rank][row]: the first slot of the pattern at which microbatch 0 can be there, one free period in front.
Patterns first_slots(const Patterns& pattern) {
  const auto ranks = pattern.count();
  Patterns first(pattern.size());
  std::int32_t slot = period;
  for (const auto row : rows) {
    for (std::int32_t i = 0; i < ranks; ++i) {
      const auto rank = rank_in_turn(row, i, ranks);
      while (slot % period != pattern[rank][row]) ++slot;
      first[rank][row] = slot++;
    }
  }
  return first;
}

struct Event {
  std::int32_t slot, rank;
  std::size_t row;
  std::int32_t microbatch;
  friend auto operator<=>(const Event&, const Event&) = default;
};

/// Moves every action to an earlier gap: backwards to the first that is wide enough, forwards as early as no rank
/// comes to hold more activations than the worst one does anyway.
class Compaction {
 public:
  Compaction(const Patterns& first, std::int32_t microbatches) : ranks_(first.size()) {
    for (const StageId rank : first.ids()) {
      for (const auto row : rows) {
        for (std::int32_t m = 0; m < microbatches; ++m)
          events_.push_back({first[rank][row] + period * m, rank, row, m});
      }
    }
    std::sort(events_.begin(), events_.end());
    const auto end = events_.back().slot + 2;
    for (auto& rank : ranks_) {
      rank.taken.resize(end);
      rank.held.resize(end);
    }
    for (const auto& event : events_) {
      auto& rank = ranks_[event.rank];
      rank.slots[event.row].push_back(event.slot);
      mark(event, event.slot, true);
      // A backward lets go in its second slot.
      rank.held[is_forward(event.row) ? event.slot : event.slot + 1] = is_forward(event.row) ? 1 : -1;
    }
    for (auto& rank : ranks_) {
      std::partial_sum(rank.held.begin(), rank.held.end(), rank.held.begin());
      most_held_ = std::max(most_held_, *std::max_element(rank.held.begin(), rank.held.end()));
    }
  }

  /// Events of all ranks by their slots.
  std::vector<Event> run() {
    for (auto& event : events_) {
      const auto slot = is_forward(event.row) ? earlier_forward(event) : earlier_backward(event);
      mark(event, event.slot, false);
      mark(event, slot, true);
      const auto lasting = is_forward(event.row) ? 0 : 1;
      auto& rank = ranks_[event.rank];
      for (auto s = slot + lasting; s < event.slot + lasting; ++s) rank.held[s] += is_forward(event.row) ? 1 : -1;
      rank.slots[event.row][event.microbatch] = slot;
      event.slot = slot;
    }
    std::sort(events_.begin(), events_.end());
    return std::move(events_);
  }

 private:
  struct Rank {
    Indexed<std::int32_t, bool> taken;         ///< by slot
    Indexed<std::int32_t, std::int32_t> held;  ///< by slot
    std::array<Indexed<MicrobatchId, std::int32_t>, rows.size()> slots;
  };

  void mark(const Event& event, std::int32_t slot, bool taken) {
    auto& slots = ranks_[event.rank].taken;
    slots[slot] = taken;
    if (!is_forward(event.row)) slots[slot + 1] = taken;
  }
  /// The first slot after everything that the action waits for.
  [[nodiscard]] std::int32_t first_slot(const Event& event) const {
    const auto [slot, rank, row, microbatch] = event;
    const auto after = [&](std::int32_t other_rank, std::size_t other_row, std::int32_t m) {
      return ranks_[other_rank].slots[other_row][m] + (is_forward(other_row) ? 1 : 2);
    };
    const auto before = from_first_rank(row) ? rank - 1 : rank + 1;
    std::int32_t first = microbatch > 0 ? after(rank, row, microbatch - 1) : 0;
    if (ranks_.contains(before))
      first = std::max(first, after(before, row, microbatch));
    else if (row != down)
      first = std::max(first, after(rank, row - 1, microbatch));  // the V turns here
    return first;
  }
  [[nodiscard]] std::int32_t earlier_forward(const Event& event) const {
    const auto& rank = ranks_[event.rank];
    const auto first = first_slot(event);
    auto slot = event.slot;
    while (slot > first && rank.held[slot - 1] < most_held_) --slot;
    while (slot < event.slot && rank.taken[slot]) ++slot;
    return slot;
  }
  [[nodiscard]] std::int32_t earlier_backward(const Event& event) const {
    const auto& taken = ranks_[event.rank].taken;
    for (auto slot = first_slot(event); slot + 1 < event.slot; ++slot) {
      if (!taken[slot] && !taken[slot + 1]) return slot;
    }
    return event.slot;
  }

  Indexed<StageId, Rank> ranks_;
  std::vector<Event> events_;
  std::int32_t most_held_ = 0;
};

/// 1F1B on a V ("Pipeline Parallelism with Controllable Memory", 2024): a pattern of six slots, repeated for every
/// microbatch, then moved together.
PipelineOrder v_1f1b_order(const ScheduleRequest& request) {
  auto order = empty_v_order(request);
  for (const auto& event : Compaction(first_slots(pattern_of(request.ranks)), request.microbatches).run()) {
    const std::size_t chunk = event.row == down || event.row == backward_down ? 0 : 1;
    const auto work = is_forward(event.row) ? forward : backward;
    order.ranks[event.rank].push_back({{work, v_stage(order.shape, event.rank, chunk), event.microbatch}, {}});
  }
  return order;
}

}  // namespace

extern const Schedule v_1f1b_schedule = {
    .name = "v-1f1b",
    .summary = "1F1B on a V of two chunks",
    .placement = StagePlacement::v,
    .usual_chunks = 2,
    .own_rule = long_search_rule,
    .order = v_1f1b_order,
};

}  // namespace lockstep::workloads
