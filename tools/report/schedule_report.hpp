#pragma once
/// The report of one pipeline schedule by itself.
#include "tools/output/schedules/schedule_study.hpp"
#include "tools/report/page.hpp"

namespace lockstep::report {

[[nodiscard]] std::optional<std::string> schedule_report(const output::ScheduleStudy& study);

}  // namespace lockstep::report
