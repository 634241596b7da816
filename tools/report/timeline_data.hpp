#pragma once
/// A simulation's timeline as the report page reads it (web/src/timeline/model.js).
#include <string>

#include "sim/simulate.hpp"
#include "tools/report/report_data.hpp"

namespace lockstep::report {

/// Ranks with identical lanes are shown once; at most `most_ranks` of them, but every stage. Times are whole
/// nanoseconds.
[[nodiscard]] ReportData::Json timeline_data(const std::string& name, const Simulation& simulation, ReportData& data,
                                             std::size_t most_ranks = 16);

}  // namespace lockstep::report
