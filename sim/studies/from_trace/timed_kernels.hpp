#pragma once
/// Products and attention of a trace with their shapes and times, as the calibration of a chip takes them. A trace has
/// shapes if the profiler recorded them (torch.profiler's record_shapes).
#include <cstdint>
#include <vector>

#include "sim/studies/calibration/measured_kernels.hpp"
#include "workloads/traces/recorded_job.hpp"

namespace lockstep::from_trace {

struct TimedKernel {
  calibration::MeasuredKernel measured;  ///< with the median time of its calls
  std::int64_t calls = 0;
  /// Attention: sequences; heads of keys. Products: 0.
  std::int64_t sequences = 0, key_heads = 0;
};

/// Of every kind of call on the first `ranks` ranks one, the most time first. Attention over as many keys as queries is
/// taken to be causal.
[[nodiscard]] std::vector<TimedKernel> timed_kernels(const workloads::RecordedJob& job, std::size_t ranks);

}  // namespace lockstep::from_trace
