#pragma once
/// V schedules made from a pattern that repeats every six slots, one action per slot and rank: two forwards, two input
/// gradients and, in what is left, two weight gradients ("Pipeline Parallelism with Controllable Memory", 2024). The
/// farther apart a microbatch's slots lie, the longer its activations are held.
#include <array>
#include <vector>

#include "workloads/pipeline/schedules/schedules_private.hpp"

namespace lockstep::workloads {

/// Slots of the first microbatch on a rank, in the order it passes them: forward on chunk 0 and 1, input
/// gradient on chunk 1 and 0. Microbatch m follows six slots per microbatch later.
using VPattern = std::array<std::int32_t, 4>;

/// Repeats the pattern (one per rank) for all microbatches, then pulls the actions of the warm-up and of the
/// drain forwards as far as the memory of the pattern allows, and puts weight gradients into the gaps.
[[nodiscard]] PipelineOrder order_from_pattern(const ScheduleRequest& request, const std::vector<VPattern>& pattern);

}  // namespace lockstep::workloads
