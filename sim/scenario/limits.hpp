#pragma once
/// How large a step may be. docs/scenario_reference.md names these numbers, and a test reads them there.
#include <cstdint>

namespace lockstep::scenario {

inline constexpr std::int64_t most_microbatches_of_a_step = 100'000;
inline constexpr double most_passes = 5e6;           ///< forward passes of stages, in the whole step
inline constexpr double most_step_operations = 5e6;  ///< vertices of one step graph, about 1 kB each
inline constexpr double most_rank_operations = 4e9;  ///< operations of all ranks together in one engine
inline constexpr double most_weight_tensors = 20e3;  ///< the optimizer may wait for the gradients of all
inline constexpr double longest_step_s =
    1e8;  ///< three years: dates of later events would be too coarse for its shortest
inline constexpr double most_step_bytes =
    4e18;  ///< of all arrays of all microbatches on a chip: their sums fit into 64 bits

}  // namespace lockstep::scenario
