#pragma once
/// A model's blocks on the stages of a pipeline schedule.
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/pipeline/layout.hpp"
#include "workloads/pipeline/pipeline_order.hpp"
#include "workloads/pipeline/pipeline_timing.hpp"
#include "workloads/sharded_layers/sharded_layer.hpp"

namespace lockstep::workloads {

struct StepPipeline {
  PipelineOrder order;
  PipelineTimes
      times;  ///< estimates, by which automatic schedules chose their order and idle time is split into causes
  Indexed<BlockId, KindId> kinds;  ///< of those that a stage recomputes, the kind that does so
  KindId kinds_of_slice = 0;       ///< of each slice of a microbatch: the first slice's, then as many of the next, ...
  Indexed<VirtualStageId, BlockId> first_block;  ///< and one past the last block at the end

  [[nodiscard]] int blocks_of(VirtualStageId stage) const { return first_block[stage + 1] - first_block[stage]; }
  [[nodiscard]] VirtualStageId stage_of_block(BlockId block) const;
};

/// No pipeline: one rank that runs each microbatch forwards and backwards.
[[nodiscard]] StepPipeline single_stage(int blocks, std::int64_t microbatches);

/// For every backward step, whether the gradient of the block's input waits for it (I); the other steps make gradients
/// of weights (W), for which only the optimizer waits.
using ChosenSteps = Indexed<BlockStepId, bool>;
[[nodiscard]] ChosenSteps steps_of_input_gradient(const ShardedLayer& block);

/// Which blocks are on which of `stages` stages. `is_layer` says for each block of the model, in forward order, whether
/// it is a layer; blocks before the layers go to the first stage, blocks after them to the last. `layers` gives the
/// layers of each stage; empty: as evenly as possible; if the layers do not divide, one layer less on the last stage,
/// the first, the last but one, the second, ... (last and first hold head and embedding).
struct LayerSplit {
  Indexed<VirtualStageId, BlockId> first_block;  ///< as in StepPipeline
  std::string what, expected;                    ///< why it cannot be done; empty: done
};
[[nodiscard]] LayerSplit split_layers(const std::vector<bool>& is_layer, std::int32_t stages,
                                      const std::vector<std::int64_t>& layers);
/// The same as a layout says, which must place every block, in forward order.
[[nodiscard]] LayerSplit split_by_layout(const std::vector<bool>& is_layer, const PipelineLayout& layout);
/// Where the blocks stand, as a layout: `first_block` as in StepPipeline.
[[nodiscard]] PipelineLayout layout_of(const std::vector<bool>& is_layer,
                                       const Indexed<VirtualStageId, BlockId>& first_block);

}  // namespace lockstep::workloads
