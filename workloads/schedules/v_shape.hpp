#pragma once
/// What the schedules on a V of two chunks share.
#include <string>

#include "workloads/schedules/schedules_private.hpp"

namespace lockstep {

/// An order without cells; throws ScheduleError if the request wants other than two chunks.
[[nodiscard]] inline PipelineOrder empty_v_order(const ScheduleRequest& request) {
  const auto chunks = request.chunks.value_or(2);
  if (chunks != 2) {
    throw ScheduleError("chunks", request.name + " with " + std::to_string(chunks) + " chunks per rank",
                        "2 chunks per rank, the two arms of the V");
  }
  return empty_order(request, StagePlacement::v, 2);
}

/// For schedules that search through slots of all ranks: what that costs grows with a power of the ranks.
inline void refuse_long_search(const ScheduleRequest& request) {
  constexpr std::int32_t most_ranks = 256;
  if (request.ranks > most_ranks) {
    throw ScheduleError("stages",
                        request.name + " on " + std::to_string(request.ranks) + " ranks takes too long to work out",
                        "at most " + std::to_string(most_ranks) + " ranks");
  }
}

/// The stage of a rank on the way down (chunk 0) or on the way back (chunk 1).
[[nodiscard]] inline std::int32_t v_stage(const PipelineShape& shape, std::int32_t rank, std::size_t chunk) {
  return chunk == 0 ? rank : 2 * shape.ranks - 1 - rank;
}

}  // namespace lockstep
