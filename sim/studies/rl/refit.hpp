#pragma once
/// The way of updated weights from training to the engine that generates: gathered over the ranks that share out a copy
/// of the model, and, where the engine has a pool of its own, broadcast from one of them to all its chips.
#include "sim/preparation/preparation.hpp"
#include "sim/studies/rl/loop_spec.hpp"

namespace lockstep::rl {

struct Refit {
  Bytes weights{0};  ///< of the whole model, as sent
  Seconds gather{0}, broadcast{0};
  [[nodiscard]] Seconds time() const { return gather + broadcast; }
};

/// Throws ConfigError where the engine's pool cannot stand on the policy's network.
[[nodiscard]] Refit refit_of(const LoopSpec& loop, const preparation::Preparation& prepared);

}  // namespace lockstep::rl
