#pragma once
/// The same collective on all ranks that take part. Collectives of a group come in the same order on all of its
/// members; the k-th send from one rank to another meets that one's k-th receive from it.
#include <map>
#include <string>
#include <vector>

#include "sim/studies/replay/rank_work.hpp"

namespace lockstep::replay {

struct MatchedPart {
  std::int32_t rank = 0;  ///< position in RecordedJob::ranks
  WorkId operation = 0;
};

struct MatchedCollective {
  workloads::RecordedCollective what;  ///< as its first member recorded it
  std::vector<MatchedPart> parts;      ///< by position of the rank
  Seconds recorded{0};                 ///< least duration of its members
};

/// Every collective operation of every rank is part of one. Throws ConfigError where ranks of a group disagree.
[[nodiscard]] std::vector<MatchedCollective> matched_collectives(const workloads::RecordedJob& job,
                                                                 const std::vector<RankWork>& works);

/// "all_reduce"; "unknown".
[[nodiscard]] std::string kind_text(const workloads::RecordedCollective& collective);

}  // namespace lockstep::replay
