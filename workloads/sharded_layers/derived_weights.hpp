#pragma once
/// The weights of a block by themselves, for those who need no passes: much less work than deriving the block.
#include "workloads/sharded_layers/sharded_layer.hpp"

namespace lockstep::workloads {

/// ShardedLayer::weights as derive_layer makes them, but for the steps that compute the gradients; without passes.
[[nodiscard]] ShardedLayer derive_weights(const Block& block, const Plan& plan, const Sizes& sizes,
                                          const DerivePolicy& policy);

}  // namespace lockstep::workloads
