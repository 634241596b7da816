#pragma once
/// A simulation's timeline as the report page reads it (web/src/timeline/model.js).
#include <string>

#include "sim/simulate.hpp"
#include "tools/report/report_data.hpp"

namespace lockstep::report {

/// A packed document by itself, which a page takes in with ReportData::nested. Ranks with identical lanes are shown
/// once; at most `most_ranks` of them, but every stage. Times are whole nanoseconds. Asks the machine's collectives,
/// which are for one thread at a time.
[[nodiscard]] std::string packed_timeline(const std::string& name, const Simulation& simulation,
                                          std::size_t most_ranks = 16);

}  // namespace lockstep::report
