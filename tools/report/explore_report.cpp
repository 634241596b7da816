#include "tools/report/explore_report.hpp"

#include "tools/output/results/result_json.hpp"
#include "tools/output/results/scenario_comparison.hpp"
#include "tools/report/compare_report.hpp"
#include "tools/report/run_report.hpp"

namespace lockstep::report {
namespace {

output::ComparedScenario compared(const std::string& name, const ExploredStep& step) {
  return output::read_compared(name, output::inputs_of(step.scenario, step.simulation.preparation),
                               result_json(step.scenario, step.simulation, output::WallTimes::hidden));
}

}  // namespace

std::string explored_step(const ExploredStep& step) { return step_page(step.scenario, step.simulation).packed(); }

std::string explored_pair(const ExploredStep& pinned, const ExploredStep& now) {
  return comparison_page({compared("pinned", pinned), compared("now", now)},
                         {packed_timeline("pinned", pinned.simulation), packed_timeline("now", now.simulation)})
      .packed();
}

}  // namespace lockstep::report
