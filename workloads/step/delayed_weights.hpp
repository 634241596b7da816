#pragma once
/// Gradients of weights that wait until a transfer to or from the experts runs beside them.
#include "workloads/sharded_layers/sharded_layer.hpp"

namespace lockstep::workloads {

/// Reorders a block's backward as Megatron's --delay-wgrad-compute does: gradients of weights go behind the next
/// all-to-all of the pass, or to its end, so that no gradient of an input waits for them. The steps and what they wait
/// for stay the same.
void delay_weight_gradients(ShardedLayer& block);

}  // namespace lockstep::workloads
