#pragma once
/// The least memory that the passes of a block hold.
#include "sim/studies/planning/plan_summary.hpp"

namespace lockstep::planning {

[[nodiscard]] inline bool is_gather(const workloads::BlockStep& step) {
  return step.kind == workloads::BlockStep::Kind::collective && step.role == workloads::CollectiveRole::weight;
}

/// Which steps of a block's passes count.
struct SummarizedSteps {
  std::vector<bool> forward, backward, input_gradient;
  bool whole_gradients = true;  ///< of weights, before they are reduced
};

/// Fills in what is kept, what lies between and the most of each pass.
void summary_memory(const workloads::ShardedLayer& block, const SummarizedSteps& steps,
                    const workloads::StepOptions& options, const cost::ComputeRates& rates, BlockPasses& passes);

}  // namespace lockstep::planning
