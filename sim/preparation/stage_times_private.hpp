#pragma once
/// About how long the stages of a pipeline take, on the chips on which they stand.
#include <set>
#include <vector>

#include "sim/preparation/preparation.hpp"
#include "workloads/pipeline/pipeline_order.hpp"

namespace lockstep::preparation {

class StageClock {
 public:
  using KindsInOrder = Indexed<workloads::BlockId, workloads::KindId>;
  using FirstBlocks = Indexed<workloads::VirtualStageId, workloads::BlockId>;

  StageClock(const scenario::Scenario& scenario, const Machine& machine, const workloads::ShardedLayers& layers,
             const workloads::PipelineShape& shape);

  /// One microbatch through each stage, its blocks one after the other; on several kinds of chips the slowest's time.
  /// `kinds_of_slice` as in StepPipeline; what all slices take is the microbatch's time.
  [[nodiscard]] workloads::PipelineTimes times(KindsInOrder kinds, workloads::KindId kinds_of_slice,
                                               const FirstBlocks& first_block) const;
  /// How many layers each stage gets such that the slowest takes as little time as possible, one or more each; blocks
  /// before the first layer and after the last stay on the first and the last stage. Empty: there are fewer layers than
  /// stages.
  [[nodiscard]] std::vector<std::int64_t> layers_by_speed(const KindsInOrder& kinds,
                                                          const std::vector<bool>& is_layer) const;

 private:
  [[nodiscard]] Indexed<workloads::VirtualStageId, workloads::StageTimes> of_one_pass(
      const KindsInOrder& kinds, const FirstBlocks& first_block) const;
  /// Of a block on a stage, forward and backward.
  [[nodiscard]] double time_of(workloads::KindId kind, workloads::VirtualStageId stage) const;

  workloads::PipelineShape shape_;
  Indexed<topologies::ChipKindId, Indexed<workloads::KindId, workloads::StageTimes>> of_chips_;
  Indexed<workloads::VirtualStageId, std::set<topologies::ChipKindId>> chips_of_;
};

}  // namespace lockstep::preparation
