#pragma once
/// Gathers of weights that are stored split, ahead of the pass that reads them as far as there is room.
#include <map>
#include <utility>
#include <vector>

#include "workloads/step/step_writer_private.hpp"

namespace lockstep::workloads {

class StepGathers {
 public:
  explicit StepGathers(StepWriter& writer)
      : writer_(writer), readers_(static_cast<std::size_t>(writer.pipeline.order.shape.ranks)) {}

  /// Writes the gathers among the chosen steps of a block's pass and gives them vertices; returns whether there are
  /// any.
  bool write(const StepPlace& place, StepPass pass, const std::vector<bool>& chosen, PassVertices& vertices);
  /// Operations after which a gather ahead of its pass has a free buffer: the block that computed `prefetch` + 1 passes
  /// ago on this stage has used its weights.
  [[nodiscard]] OpIds room(std::int32_t stage) const;
  /// Records the operations that use the weights of the pass written last.
  void read(std::int32_t stage, OpIds readers) {
    readers_[static_cast<std::size_t>(stage)].push_back(std::move(readers));
  }

  static bool is_one(const BlockStep& step) {
    return step.kind == BlockStep::Kind::collective && step.role == CollectiveRole::weight;
  }

 private:
  const StepWork* together(const StepPlace& place, StepPass pass, const std::vector<std::size_t>& group);

  StepWriter& writer_;
  std::vector<std::vector<OpIds>> readers_;  ///< by stage: of each pass of a block, in order
  std::map<std::pair<const std::vector<BlockStep>*, std::vector<std::size_t>>, const StepWork*> works_;
};

}  // namespace lockstep::workloads
