#pragma once
/// The collectives of a recorded job beside those that a scenario derives, by kind, group size and bytes: what a job
/// does that its scenario does not, and the other way round.
#include <optional>
#include <string>
#include <vector>

#include "sim/preparation/preparation.hpp"
#include "workloads/traces/recorded_job.hpp"

namespace lockstep::replay {

struct ComparedCollective {
  std::string kind;            ///< "all_reduce"; "unknown"
  std::int32_t members = 0;    ///< 0: the trace does not tell
  std::optional<Bytes> bytes;  ///< the larger buffer of one rank, as nccl-tests print it
  double recorded = 0;         ///< times in a step of the rank
  double derived = 0;
};

/// The pipeline stage of the rank at a position of the cluster.
[[nodiscard]] workloads::StageId stage_of(const preparation::PreparedStep& preparation, std::int32_t position);

/// Of one recorded rank, and of the scenario's rank at the same position of the cluster. Rows that agree come last;
/// before them those with most bytes first. Throws ConfigError for a rank that the scenario does not have.
[[nodiscard]] std::vector<ComparedCollective> compared_collectives(const workloads::RecordedJob& job,
                                                                   const workloads::RecordedRank& rank,
                                                                   const preparation::PreparedStep& preparation);

}  // namespace lockstep::replay
