#pragma once
/// Products and attention of a trace with their shapes and times, as the calibration of a chip takes them. A trace has
/// shapes if the profiler recorded them (torch.profiler's record_shapes).
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/studies/calibration/measured_kernels.hpp"
#include "workloads/traces/recorded_job.hpp"

namespace lockstep::from_trace {

struct TimedKernel {
  calibration::MeasuredKernel measured;  ///< with the median time of its calls
  std::int64_t calls = 0;
  /// Attention: sequences; heads of keys. Products: 0.
  std::int64_t sequences = 0, key_heads = 0;
  /// Grouped products: their number, and the rows of all together, whatever the product of each has. Others: nothing.
  std::optional<std::int64_t> experts{};
  std::int64_t routed_rows = 0;
};

/// Products of several experts in one call: [rows, k] by [experts, k, n], with where the rows of each end.
[[nodiscard]] bool is_grouped(const workloads::RecordedOperator& made);
/// "[[4096, 1024], [], [1024, 4096]]"; sizes that cannot be leave their list empty.
[[nodiscard]] std::vector<std::vector<std::int64_t>> dimensions_of(const std::string& text);

/// Of every kind of call on the first `ranks` ranks one, the most time first. Attention over as many keys as queries is
/// taken to be causal.
[[nodiscard]] std::vector<TimedKernel> timed_kernels(const workloads::RecordedJob& job, std::size_t ranks);

}  // namespace lockstep::from_trace
