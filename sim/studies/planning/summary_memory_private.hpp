#pragma once
/// The least memory that the passes of a block hold.
#include "sim/studies/planning/plan_summary.hpp"

namespace lockstep::planning {

/// Whether each step of a pass has a property, by its place there.
using SomeSteps = Indexed<int, bool>;

/// Which steps of a block's passes count.
struct SummarizedSteps {
  SomeSteps forward, backward, input_gradient;
  bool whole_gradients = true;  ///< of weights, before they are reduced
};

/// Fills in what is kept, what lies between and the most of each pass.
void summary_memory(const workloads::ShardedLayer& block, const SummarizedSteps& steps,
                    const workloads::StepOptions& options, const cost::ComputeRates& rates, BlockPasses& passes);

}  // namespace lockstep::planning
