#pragma once
/// The report of scenarios side by side.
#include <vector>

#include "tools/output/results/scenario_comparison.hpp"
#include "tools/report/page.hpp"

namespace lockstep::report {

/// The panels of steps side by side; `timelines` as below.
[[nodiscard]] ReportPage comparison_page(const std::vector<output::ComparedScenario>& scenarios,
                                         const std::vector<std::string>& timelines);

/// `timelines`: one for each scenario, as packed_timeline() gives it.
[[nodiscard]] std::optional<std::string> compare_report(const std::vector<output::ComparedScenario>& scenarios,
                                                        const std::vector<std::string>& timelines);

/// A simulation's timeline by itself, for another process to put on a page.
[[nodiscard]] std::string packed_timeline(const std::string& name, const Simulation& simulation);

}  // namespace lockstep::report
