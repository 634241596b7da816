#pragma once
/// Passes of one stage come one after the other, as frameworks issue them: a pass starts when all computation and
/// communication of the pass before it has ended. Gathers of weights, gradients on their way to the optimizer and sends
/// to other stages belong to no pass and run beside the passes.
#include <cstdint>
#include <vector>

#include "workloads/step/build_step_private.hpp"

namespace lockstep::workloads {

class PassOrder {
 public:
  explicit PassOrder(std::int32_t stages) : ended_(stages) {}

  /// The passes of one cell of the pipeline's order, from operation `first` on.
  void begin(StageId stage, OpId first) {
    stage_ = stage;
    first_ = first;
    places_.clear();
  }
  /// An operation that waits for no other of its own pass waits for the pass before.
  void follow(OpIds& after) const {
    if (std::none_of(after.begin(), after.end(), [&](OpId id) { return belongs(id); })) merge(after, ended_[stage_]);
  }
  void add(OpId id, const OpIds& after) {
    places_.resize(id - first_, Place::elsewhere);
    places_.push_back(Place::last);
    for (const auto before : after) {
      if (belongs(before)) places_[before - first_] = Place::waited_for;
    }
  }
  void end() {
    OpIds last;
    for (const auto place : places_.ids()) {
      if (places_[place] == Place::last) last.push_back(first_ + place);
    }
    if (!last.empty()) ended_[stage_] = std::move(last);
  }

 private:
  enum class Place : std::uint8_t {
    elsewhere,   ///< not in the pass
    waited_for,  ///< by another operation of the pass
    last         ///< no other of the pass waits for it yet
  };
  [[nodiscard]] bool belongs(OpId id) const {
    return places_.contains(id - first_) && places_[id - first_] != Place::elsewhere;
  }

  Indexed<StageId, OpIds> ended_;  ///< the last operations of the pass that was written last
  StageId stage_ = 0;
  OpId first_ = 0;
  Indexed<OpId, Place> places_;  ///< from `first_` on
};

}  // namespace lockstep::workloads
