#pragma once
/// What chips hold for the passes of blocks: outputs of their steps, and how long each of them is needed.
#include <map>
#include <tuple>

#include "workloads/step/step_writer_private.hpp"

namespace lockstep::workloads {

class StepBuffers {
 public:
  explicit StepBuffers(StepWriter& writer) : writer_(writer) {}

  /// Makes a buffer for the output of each step of a block's pass; returns the first.
  BufferId begin(const StepPlace& place, StepPass pass);
  /// After the chosen steps of the pass have been written. Every step's output lives until its last reader in the same
  /// pass, and what the block received at least until that pass has read it.
  void end(const StepPlace& place, StepPass pass, const ChosenSteps& chosen, const PassVertices& vertices);
  /// What chosen steps of a block's backward read of its forward lives until then.
  void read_forward(const StepPlace& place, const ChosenSteps& chosen, const PassVertices& forward,
                    const PassVertices& backward);

 private:
  void hold_for_earlier_slices(const StepPlace& place, const ChosenSteps& chosen, const PassVertices& vertices);

  StepWriter& writer_;
  std::map<std::tuple<BlockId, BlockStepId, MicrobatchId>, BufferId> for_earlier_;  ///< of slices, by who made them
};

}  // namespace lockstep::workloads
