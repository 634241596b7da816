#pragma once
/// The report of scenarios side by side.
#include <vector>

#include "tools/output/results/scenario_comparison.hpp"
#include "tools/report/page.hpp"

namespace lockstep::report {

/// The panels of steps side by side; `timelines` as below.
[[nodiscard]] ReportPage comparison_page(const std::vector<output::ComparedScenario>& scenarios,
                                         const std::vector<std::string>& timelines);

/// `timelines`: one for each scenario, as packed_timeline() gives it (timeline_data.hpp).
[[nodiscard]] std::optional<std::string> compare_report(const std::vector<output::ComparedScenario>& scenarios,
                                                        const std::vector<std::string>& timelines);

}  // namespace lockstep::report
