#pragma once
/// How much later than the first each rank began what was recorded of it. Clocks of hosts cannot be compared, but a
/// collective ends on all of its members at about the same time: by that the ranks' dates are laid on each other.
#include <vector>

#include "sim/studies/replay/matched_collectives.hpp"

namespace lockstep::replay {

/// By position in RecordedJob::ranks, from 0 up; all 0 for graphs without dates. A rank that shares no collective with
/// others counts as having begun with the first.
[[nodiscard]] std::vector<Seconds> later_begins(const workloads::RecordedJob& job, const std::vector<RankWork>& works,
                                                const std::vector<MatchedCollective>& collectives);

}  // namespace lockstep::replay
