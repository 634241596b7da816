#pragma once
/// Which weights the stages of a pipeline hold: those of their blocks, and copies of those that their blocks are tied
/// to.
#include <map>
#include <string>

#include "workloads/step/step_writer_private.hpp"

namespace lockstep::workloads {

class WeightCopies {
 public:
  explicit WeightCopies(const StepWriter& writer) : writer_(writer) {
    for (BlockId block = 0; block < writer.blocks(); ++block) {
      for_each_weight(
          block, [&](const Owner& owner, const WeightUpdate& update) { tied_to_.try_emplace(update.weight, owner); });
    }
  }

  /// The first block's weight of this name.
  [[nodiscard]] const Owner& owner(const std::string& weight) const { return tied_to_.at(weight); }

  /// Calls `visit(owner, update)` for each weight of a block.
  template <class Visit>
  void for_each_weight(BlockId block, Visit visit) const {
    std::int32_t weight = 0;
    for (const auto& update : writer_.kind(block).weights) visit(Owner{block, weight++}, update);
  }

  /// Calls `visit(owner, block)` for each weight that a block on a stage has or is tied to.
  template <class Visit>
  void for_each_copy(StageId stage, Visit visit) const {
    const auto& pipeline = writer_.pipeline;
    for (const auto virtual_stage : pipeline.order.shape.virtual_stages_of(stage)) {
      const BlockId first = pipeline.first_block[virtual_stage];
      for (BlockId block = first; block < first + pipeline.blocks_of(virtual_stage); ++block) {
        for_each_weight(block, [&](const Owner& own, const WeightUpdate&) { visit(own, block); });
        for (const auto& tied : writer_.kind(block).tied_gradients) visit(owner(tied.weight), block);
      }
    }
  }

 private:
  const StepWriter& writer_;
  std::map<std::string, Owner> tied_to_;
};

}  // namespace lockstep::workloads
