#pragma once
/// Gathers of weights that are stored split, ahead of the pass that reads them as far as there is room.
#include <map>
#include <utility>
#include <vector>

#include "workloads/step/step_writer_private.hpp"

namespace lockstep::workloads {

class StepGathers {
 public:
  explicit StepGathers(StepWriter& writer) : writer_(writer), readers_(writer.pipeline.order.shape.ranks) {}

  /// Writes the gathers among the chosen steps of a block's pass and gives them vertices; returns whether there are
  /// any.
  bool write(const StepPlace& place, StepPass pass, const ChosenSteps& chosen, PassVertices& vertices);
  /// Operations after which a gather ahead of its pass has a free buffer: the block that computed `prefetch` + 1 passes
  /// ago on this stage has used its weights.
  [[nodiscard]] OpIds room(StageId stage) const;
  /// Records the operations that use the weights of the pass written last.
  void read(StageId stage, OpIds readers) { readers_[stage].push_back(std::move(readers)); }

 private:
  const StepWork* together(const StepPlace& place, StepPass pass, const std::vector<BlockStepId>& group);

  StepWriter& writer_;
  Indexed<StageId, Indexed<int, OpIds>> readers_;  ///< of each pass of a block, in order
  std::map<std::pair<const BlockSteps*, std::vector<BlockStepId>>, const StepWork*> works_;
};

}  // namespace lockstep::workloads
