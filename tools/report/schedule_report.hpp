#pragma once
/// The reports of pipeline schedules by themselves: of one, and of several side by side.
#include "tools/output/schedules/schedule_study.hpp"
#include "tools/report/page.hpp"

namespace lockstep::report {

[[nodiscard]] std::optional<std::string> schedule_report(const output::ScheduleStudy& study);
/// Schedules for equal devices and equal work; times are in units of the given ones.
[[nodiscard]] std::optional<std::string> schedules_report(std::span<const output::ComparedSchedule> schedules,
                                                          std::int32_t ranks, std::int32_t microbatches);

}  // namespace lockstep::report
