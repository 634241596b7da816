#pragma once
/// Traces that tell what a rank communicated, and nothing of its kernels: lists of collectives.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "workloads/traces/job_writer_private.hpp"

namespace lockstep::workloads {

class CollectiveLog {
 public:
  explicit CollectiveLog(JobWriter& writer);
  /// The next collective of the rank, with its time if the log has it.
  void add(std::string_view name, RecordedCollective collective, Seconds duration);

 private:
  JobWriter& writer_;
  std::map<RecordedGroupId, std::int64_t> seen_;
};

/// The elements of tensors whose sizes stand in a text such as "[[64, 3], [5]]"; -1: none are told, or too many.
[[nodiscard]] std::int64_t elements_in(std::string_view dimensions);

}  // namespace lockstep::workloads
