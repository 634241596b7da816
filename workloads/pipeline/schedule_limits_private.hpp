#pragma once
/// The largest schedules, whether made or read; absurd sizes are refused before memory is spent on them.
#include <cstdint>

namespace lockstep::workloads {

inline constexpr std::int64_t most_pipeline_ranks = 65'536;
inline constexpr std::int64_t most_chunks = 1024;
inline constexpr std::int64_t most_microbatches = 1'000'000;
inline constexpr std::int64_t most_slices = 1024;  ///< of one microbatch

}  // namespace lockstep::workloads
