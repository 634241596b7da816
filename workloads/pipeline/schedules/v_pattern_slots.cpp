#include "workloads/pipeline/schedules/v_pattern_slots.hpp"

#include <algorithm>

namespace lockstep::workloads::v_slots {

// A slot of a rank has at most one event, so that putting each into its place sorts them.
std::vector<Event> by_slot(const Slots& slots, std::int32_t rank) {
  std::int32_t end = 0;
  for (const auto& row : slots) end = row.empty() ? end : std::max(end, row.back() + 1);
  Indexed<std::int32_t, Event> in_slot(end, Event{-1, rank, 0, 0});
  for (std::size_t row = 0; row < rows; ++row) {
    for (const auto i : slots[row].ids()) in_slot[slots[row][i]] = {slots[row][i], rank, row, i};
  }
  std::vector<Event> events;
  events.reserve(in_slot.size());
  std::copy_if(in_slot.begin(), in_slot.end(), std::back_inserter(events),
               [](const Event& event) { return event.slot >= 0; });
  return events;
}

std::vector<Event> by_slot(const Table& table) {
  std::vector<std::vector<Event>> ranks;
  std::size_t count = 0;
  for (const StageId rank : table.ids()) {
    ranks.push_back(by_slot(table[rank], rank));
    count += ranks.back().size();
  }
  std::vector<Event> events;
  std::vector<std::size_t> next(ranks.size(), 0);
  for (std::int32_t slot = 0; events.size() < count; ++slot) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (next[rank] < ranks[rank].size() && ranks[rank][next[rank]].slot == slot)
        events.push_back(ranks[rank][next[rank]++]);
    }
  }
  return events;
}

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

}  // namespace lockstep::workloads::v_slots
