#include "tools/report/explore_report.hpp"

#include "tools/report/run_report.hpp"

namespace lockstep::report {

std::string explored_step(const scenario::Scenario& scenario, const Simulation& simulation) {
  return step_page(scenario, simulation).packed();
}

std::string explored_pair(const output::ComparedScenario& pinned, const std::string& pinned_timeline,
                          const output::ComparedScenario& now, const std::string& timeline) {
  return comparison_page({pinned, now}, {pinned_timeline, timeline}).packed();
}

}  // namespace lockstep::report
