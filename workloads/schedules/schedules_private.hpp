#pragma once
/// One function per schedule, each in the file of its name, and beside it the schedule's own rule of P, M, V and N where it
/// has one (Schedule::own_rule).
#include "workloads/schedules/schedules.hpp"

namespace lockstep {

[[nodiscard]] PipelineOrder naive_order(const ScheduleRequest& request);
[[nodiscard]] PipelineOrder gpipe_order(const ScheduleRequest& request);
[[nodiscard]] PipelineOrder one_f_one_b_order(const ScheduleRequest& request);
[[nodiscard]] PipelineOrder interleaved_order(const ScheduleRequest& request);
[[nodiscard]] PipelineOrder breadth_first_order(const ScheduleRequest& request);
[[nodiscard]] PipelineOrder zb_h1_order(const ScheduleRequest& request);
[[nodiscard]] PipelineOrder zb_h2_order(const ScheduleRequest& request);
[[nodiscard]] PipelineOrder zb_1p_order(const ScheduleRequest& request);
[[nodiscard]] PipelineOrder zb_auto_order(const ScheduleRequest& request);
[[nodiscard]] PipelineOrder interleaved_zb_order(const ScheduleRequest& request);
[[nodiscard]] PipelineOrder zb_v_order(const ScheduleRequest& request);
[[nodiscard]] PipelineOrder zb_v_auto_order(const ScheduleRequest& request);
[[nodiscard]] PipelineOrder v_half_order(const ScheduleRequest& request);
[[nodiscard]] PipelineOrder v_min_order(const ScheduleRequest& request);
[[nodiscard]] PipelineOrder v_1f1b_order(const ScheduleRequest& request);
[[nodiscard]] PipelineOrder wave_order(const ScheduleRequest& request);
[[nodiscard]] PipelineOrder dualpipe_order(const ScheduleRequest& request);
[[nodiscard]] PipelineOrder dualpipe_v_order(const ScheduleRequest& request);
[[nodiscard]] PipelineOrder overlap_1f1b_order(const ScheduleRequest& request);

[[nodiscard]] std::optional<ScheduleProblem> interleaved_rule(const ScheduleRequest& request);
[[nodiscard]] std::optional<ScheduleProblem> overlap_1f1b_rule(const ScheduleRequest& request);
[[nodiscard]] std::optional<ScheduleProblem> equal_rounds_rule(const ScheduleRequest& request);  ///< interleaved-zb, zb-1p
[[nodiscard]] std::optional<ScheduleProblem> long_search_rule(const ScheduleRequest& request);   ///< v-half, v-min, v-1f1b: they search through the slots of all ranks
[[nodiscard]] std::optional<ScheduleProblem> zb_v_rule(const ScheduleRequest& request);
[[nodiscard]] std::optional<ScheduleProblem> wave_rule(const ScheduleRequest& request);
[[nodiscard]] std::optional<ScheduleProblem> dualpipe_rule(const ScheduleRequest& request);
[[nodiscard]] std::optional<ScheduleProblem> dualpipe_v_rule(const ScheduleRequest& request);

/// An order without cells.
[[nodiscard]] PipelineOrder empty_order(const ScheduleRequest& request, StagePlacement placement, std::int32_t chunks);

}  // namespace lockstep
