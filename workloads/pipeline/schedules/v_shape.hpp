#pragma once
/// Code that the schedules on a V of two chunks share.
#include "workloads/pipeline/schedules/schedules_private.hpp"

namespace lockstep::workloads {

/// An order without cells.
[[nodiscard]] inline PipelineOrder empty_v_order(const ScheduleRequest& request) {
  return empty_order(request, StagePlacement::v, 2);
}

/// The stage of a rank on the way down (chunk 0) or on the way back (chunk 1).
[[nodiscard]] inline std::int32_t v_stage(const PipelineShape& shape, std::int32_t rank, std::size_t chunk) {
  return chunk == 0 ? rank : 2 * shape.ranks - 1 - rank;
}

}  // namespace lockstep::workloads
