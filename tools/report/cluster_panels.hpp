#pragma once
/// Panels about the machine: what its links carry, and which ranks are alike.
#include <optional>

#include "sim/simulate.hpp"
#include "tools/report/report_data.hpp"

namespace lockstep::report {

/// The most used links over time; nothing where all of them idle, or where phases were not recorded.
[[nodiscard]] std::optional<ReportData::Json> network_panel(const Simulation& simulation, ReportData& data);
/// How many ranks stand behind each lane of the timeline.
[[nodiscard]] ReportData::Json classes_panel(const Simulation& simulation);

}  // namespace lockstep::report
