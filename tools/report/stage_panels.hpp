#pragma once
/// Panels about where a simulated step's time and memory go.
#include <vector>

#include "sim/simulate.hpp"
#include "tools/report/report_data.hpp"

namespace lockstep::report {

/// A bar for each stage: computing, exposed communication by mesh axis, idle.
[[nodiscard]] ReportData::Json breakdown_panel(const Simulation& simulation);
/// A bar for each axis and kind: how much of its time hides behind compute. Precondition: the critical rank
/// communicates.
[[nodiscard]] ReportData::Json communication_panel(const Simulation& simulation);
/// A bar for each stage: why it does not compute. Precondition: a pipeline.
[[nodiscard]] ReportData::Json bubbles_panel(const scenario::Scenario& scenario, const Simulation& simulation);
/// A strip for each stage: memory by kind over time, at most 16 stages.
[[nodiscard]] ReportData::Json memory_panel(const Simulation& simulation, ReportData& data);

/// The parts of the critical path, the longest first.
[[nodiscard]] ReportData::Json critical_path_panel(const Simulation& simulation);
/// How much shorter the step gets for a percent of each rate. Precondition: the simulation asked for it.
[[nodiscard]] ReportData::Json sensitivity_panel(const Simulation& simulation);

}  // namespace lockstep::report
