#pragma once
/// The reports of pipeline schedules by themselves: of one, and of several side by side.
#include "tools/output/schedules/schedule_study.hpp"
#include "tools/report/page.hpp"
#include "tools/report/panels.hpp"

namespace lockstep::report {

/// Of a designed one: why it is as it is, beside the best published one under the same limits.
[[nodiscard]] std::optional<std::string> schedule_report(const output::ScheduleStudy& study, const Reproduction& again);
/// Schedules for equal devices and equal work; times are in units of the given ones.
[[nodiscard]] std::optional<std::string> schedules_report(std::span<const output::ComparedSchedule> schedules,
                                                          std::int32_t ranks, std::int32_t microbatches);

}  // namespace lockstep::report
