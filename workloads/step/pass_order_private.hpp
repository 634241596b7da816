#pragma once
/// Passes of one stage come one after the other, as frameworks issue them: a pass starts when all computation and
/// communication of the pass before it has ended. Gathers of weights, gradients on their way to the optimizer and sends
/// to other stages belong to no pass and run beside the passes.
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
    belongs_.clear();
    last_.clear();
  }
  /// An operation that waits for no other of its own pass waits for the pass before.
  void follow(OpIds& after) const {
    if (std::none_of(after.begin(), after.end(), [&](OpId id) { return belongs(id); })) merge(after, ended_[stage_]);
  }
  void add(OpId id, const OpIds& after) {
    belongs_.resize(id - first_, false);
    belongs_.push_back(true);
    std::erase_if(last_, [&](OpId before) { return std::find(after.begin(), after.end(), before) != after.end(); });
    last_.push_back(id);
  }
  void end() {
    if (!last_.empty()) ended_[stage_] = last_;
  }

 private:
  [[nodiscard]] bool belongs(OpId id) const { return belongs_.contains(id - first_) && belongs_[id - first_]; }

  Indexed<StageId, OpIds> ended_;  ///< the last operations of the pass that was written last
  StageId stage_ = 0;
  OpId first_ = 0;
  Indexed<OpId, bool> belongs_;  ///< from `first_` on
  OpIds last_;                   ///< operations of the pass that no other of the pass waits for yet
};

}  // namespace lockstep::workloads
