#pragma once
/// The weights of a scenario's model on the chips: what they take, and which collectives gradients and updates need.
#include "sim/simulate.hpp"

namespace lockstep {

/// derive_blocks without the blocks' passes.
[[nodiscard]] Preparation derive_weights(const Scenario& scenario);

}  // namespace lockstep
