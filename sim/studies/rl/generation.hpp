#pragma once
/// The generation phase of one iteration: replicas of an engine that decode several sequences at once and take up the
/// next when one has ended (continuous batching). The phase ends with its slowest replica.
///   decode(b) = t0 + t1 b        one token for each of b sequences
///   t0, t1 from the rates of a replica that decodes one sequence and one that decodes as many as it can
#include <cstdint>
#include <vector>

#include "sim/studies/rl/loop_spec.hpp"

namespace lockstep::rl {

struct Generation {
  Seconds time{0};
  double tokens = 0;  ///< of responses
  /// Sequences that were decoded at once, over those that could have been, mean over replicas and time.
  double running_share = 0;
};

/// `lengths`: tokens of each response; replica r of R decodes r, r + R, r + 2 R, ... in this order.
[[nodiscard]] Generation generation_of(const GenerationSpec& engine, std::int64_t replicas, std::int64_t prompt_tokens,
                                       const std::vector<std::int64_t>& lengths);

}  // namespace lockstep::rl
