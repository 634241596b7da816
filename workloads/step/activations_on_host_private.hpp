#pragma once
/// Activations that wait for their backward in the host's memory: those of the first layers of each stage.
#include <set>
#include <utility>

#include "workloads/step/step_writer_private.hpp"

namespace lockstep::workloads {

class ActivationsOnHost {
 public:
  explicit ActivationsOnHost(StepWriter& writer);

  [[nodiscard]] bool contains(const StepPlace& place) const { return layers_.contains({place.stage, place.block}); }
  /// Everything that the backward will read leaves the chip in one transfer, when all of it is there.
  void send_down(const StepPlace& place, PassVertices& forward);
  /// The transfer that brings it back, written at first use. It waits for `room`, as gathered weights do.
  OpId bring_up(const StepPlace& place, PassVertices& forward, const OpIds& room);

 private:
  StepWriter& writer_;
  std::set<std::pair<std::int32_t, int>> layers_;  ///< stage, block
};

}  // namespace lockstep::workloads
