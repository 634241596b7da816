#pragma once
/// How a recorded job is spread over its ranks, from the names of its process groups and what they communicate.
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/traces/recorded_job.hpp"

namespace lockstep::from_trace {

struct Degrees {
  std::int64_t tensor = 1, pipeline = 1, context = 1, expert = 1, data = 1, fsdp = 1;
  bool sequence_parallel = true;     ///< tensor-parallel ranks gather and scatter instead of adding up
  bool shards_optimizer = false;     ///< data-parallel ranks scatter gradients and gather weights once
  bool shards_weights = false;       ///< weights are split over the data-parallel ranks and those with other experts
  std::vector<std::string> reasons;  ///< sentences
  [[nodiscard]] std::int64_t ranks() const { return tensor * pipeline * context * expert * data * fsdp; }
};

/// Of the first recorded rank. What its groups do not explain of the job's ranks is taken to be data parallel.
[[nodiscard]] Degrees recognised_degrees(const workloads::RecordedJob& job);

}  // namespace lockstep::from_trace
