#pragma once
/// The weights of a block by themselves, for those who need no passes: much less work than deriving the block.
#include "workloads/derived_block.hpp"

namespace lockstep {

/// DerivedBlock::weights as derive_block makes them, but for the steps that compute the gradients; without passes.
[[nodiscard]] DerivedBlock derive_weights(const Block& block, const Plan& plan, const Sizes& sizes, const DerivePolicy& policy);

}  // namespace lockstep
