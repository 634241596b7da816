#pragma once
/// What the explorer's page shows of a step: the panels of reports, packed.
#include <string>

#include "sim/simulate.hpp"
#include "tools/output/results/scenario_comparison.hpp"
#include "tools/report/compare_report.hpp"
#include "tools/report/page.hpp"

namespace lockstep::report {

[[nodiscard]] std::string explored_step(const scenario::Scenario& scenario, const Simulation& simulation);
/// The step beside one that was pinned. Timelines as packed_timeline gives them.
[[nodiscard]] std::string explored_pair(const output::ComparedScenario& pinned, const std::string& pinned_timeline,
                                        const output::ComparedScenario& now, const std::string& timeline);

}  // namespace lockstep::report
