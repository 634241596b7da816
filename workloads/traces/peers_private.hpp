#pragma once
/// Ranks whose traces say nothing of their collectives, beside ranks whose traces do.
#include "workloads/traces/recorded_job.hpp"

namespace lockstep::workloads {

/// A rank's collectives as its host launched them, otherwise as they began.
[[nodiscard]] std::vector<std::int32_t> collectives_in_order_of_calls(const RecordedRank& rank);

/// Takes back sentences on kinds, sizes and groups of collectives that were missing and are known by now.
void forget_what_was_missing(RecordedJob& job);

/// Gives the collectives of ranks that name no group the kinds, sizes and groups of another rank that called as many,
/// of the same kinds as far as they are known, in groups that both are in; and says so among the job's guesses. Ranks
/// for which there is no such rank are named among what is missing.
void complete_from_peers(RecordedJob& job);

}  // namespace lockstep::workloads
