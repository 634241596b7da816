#include "workloads/traces/recorded_job.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "sim/core/errors.hpp"

namespace lockstep::workloads {

void check_members(const RecordedJob& job) {
  Problems problems;
  for (const auto& rank : job.ranks) {
    if (!rank.is_numbered) continue;
    std::set<RecordedGroupId> seen;
    for (const auto& collective : rank.collectives) {
      const auto& group = job.groups[collective.group];
      if (collective.kind == CollectiveKind::point_to_point || group.ranks.empty()) continue;
      if (!seen.insert(collective.group).second) continue;
      if (std::find(group.ranks.begin(), group.ranks.end(), rank.rank) != group.ranks.end()) continue;
      problems.add(
          {{rank.file, 0, 0},
           "",
           "rank " + std::to_string(rank.rank) + " communicates in group '" + group.name + "', which does not have it",
           "groups with all ranks that communicate in them"});
    }
  }
  problems.throw_if_any();
}

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
