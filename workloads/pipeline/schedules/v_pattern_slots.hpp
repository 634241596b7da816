#pragma once
/// The slots of a V pattern, as a table of all ranks that can be changed (v_pattern.cpp).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/core/indexed.hpp"
#include "workloads/pipeline/ids.hpp"

namespace lockstep::workloads::v_slots {

/// Rows of the table: the four of VPattern, forward and input gradient on the arms that go down and up the ranks,
/// then weight gradients in the order of their input gradients.
enum Row : std::size_t { down, up, gradient_up, gradient_down, weight };
inline constexpr std::size_t rows = 5;
[[nodiscard]] inline bool is_forward(std::size_t row) { return row <= up; }
[[nodiscard]] inline bool is_gradient(std::size_t row) { return row == gradient_up || row == gradient_down; }

/// slots[row][n]: where a rank runs the n-th action of the row.
using Slots = std::array<Indexed<std::int32_t, std::int32_t>, rows>;
using Table = Indexed<StageId, Slots>;

struct Event {
  std::int32_t slot, rank;
  std::size_t row;
  std::int32_t index;
};

[[nodiscard]] std::vector<Event> by_slot(const Slots& slots, std::int32_t rank);
/// Events in the order of their slots; among events of one slot the first rank's comes first.
[[nodiscard]] std::vector<Event> by_slot(const Table& table);

/// Puts a weight gradient that is due into every free slot; the others come last.
void fill_with_weights(Slots& slots);

/// The activations that a rank holds, slot by slot.
class MemoryOfRank {
 public:
  /// `weights_in_gaps`: weight gradients have no slots of their own yet; a free slot is worth one that is due.
  MemoryOfRank(std::int32_t slots, bool weights_in_gaps)
      : row_(slots, nothing), after_(slots), weights_in_gaps_(weights_in_gaps) {}

  [[nodiscard]] bool free(std::int32_t slot) const { return row_[slot] == nothing; }

  /// The most activations from one slot to another if the row's action were at the first of them.
  [[nodiscard]] std::int32_t most(std::int32_t from, std::int32_t to, std::size_t row) const {
    auto state = step(before(from), row);
    std::int32_t most = state.held;
    for (auto slot = from + 1; slot <= to; ++slot) {
      state = step(state, row_[slot]);
      most = std::max(most, state.held);
    }
    return most;
  }
  void put(std::int32_t slot, std::size_t row) {
    row_[slot] = row;
    for (known_ = std::min(known_, slot); known_ <= slot; ++known_) after_[known_] = step(before(known_), row_[known_]);
  }
  /// Slots before this one are final, apart from moves into them.
  void advance_to(std::int32_t slot) {
    for (; known_ < slot; ++known_) after_[known_] = step(before(known_), row_[known_]);
  }

 private:
  struct State {
    std::int32_t held = 0;
    std::int32_t due = 0;
  };
  static constexpr std::size_t nothing = rows;

  [[nodiscard]] State before(std::int32_t slot) const { return slot == 0 ? State{} : after_[slot - 1]; }
  [[nodiscard]] State step(State state, std::size_t row) const {
    if (is_forward(row)) ++state.held;
    if (is_gradient(row)) ++state.due;
    if (row == weight || (weights_in_gaps_ && row == nothing && state.due > 0)) {
      --state.held;
      --state.due;
    }
    return state;
  }

  Indexed<std::int32_t, std::size_t> row_;  ///< by slot
  Indexed<std::int32_t, State> after_;      ///< by slot
  std::int32_t known_ = 0;
  bool weights_in_gaps_;
};

}  // namespace lockstep::workloads::v_slots
