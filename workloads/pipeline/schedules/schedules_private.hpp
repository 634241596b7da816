#pragma once
/// Helpers that the files of schedules share.
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::workloads {

/// Rules of P, M, V and N: of interleaved-zb and zb-1p; of v-half, v-min and v-1f1b, which search through the slots of
/// all ranks.
[[nodiscard]] std::optional<ScheduleProblem> equal_rounds_rule(const ScheduleRequest& request);
[[nodiscard]] std::optional<ScheduleProblem> long_search_rule(const ScheduleRequest& request);

/// An order without cells.
[[nodiscard]] PipelineOrder empty_order(const ScheduleRequest& request, StagePlacement placement, std::int32_t chunks);

}  // namespace lockstep::workloads
