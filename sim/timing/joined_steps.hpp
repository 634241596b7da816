#pragma once
/// A block in fewer steps that take the same time: computing steps that follow each other on a rank's compute stream,
/// with only the last awaited by other streams, become one. A step's graph of such blocks has the same times with
/// a third of the operations and less, but neither memory nor names.
#include "sim/cost/time_model.hpp"
#include "workloads/sharded_layers/sharded_layer.hpp"
#include "workloads/step/build_step.hpp"

namespace lockstep::timing {

/// For schedules that neither split backwards nor overlap passes, which decide between steps; and not for calibrated
/// kernels, which collectives beside them slow down.
[[nodiscard]] workloads::ShardedLayer with_joined_steps(const workloads::ShardedLayer& block,
                                                        const cost::ComputeRates& rates,
                                                        const workloads::StepOptions& options);

}  // namespace lockstep::timing
