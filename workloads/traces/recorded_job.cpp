#include "workloads/traces/recorded_job.hpp"

#include <algorithm>

#include <limits>

#include <numeric>

namespace lockstep::workloads {

RecordedCounts counts(const RecordedRank& rank) {
  RecordedCounts counts;
  for (const auto& event : rank.events) {
    counts.dependences += std::ssize(event.after);
    switch (event.kind) {
      case RecordedEvent::Kind::kernel:
        ++counts.kernels;
        counts.kernel_time += event.duration;
        break;
      case RecordedEvent::Kind::copy: ++counts.copies; break;
      case RecordedEvent::Kind::host: ++counts.host; break;
      case RecordedEvent::Kind::collective:
        ++counts.collectives;
        counts.collective_time += event.duration;
        if (const auto& buffer = rank.collectives[event.collective].buffer)
          counts.communicated +=
              std::min(*buffer, Bytes(std::numeric_limits<std::int64_t>::max()) - counts.communicated);
        break;
    }
  }
  return counts;
}

}  // namespace lockstep::workloads
