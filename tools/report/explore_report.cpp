#include "tools/report/explore_report.hpp"

#include "tools/output/results/result_json.hpp"
#include "tools/output/results/scenario_comparison.hpp"
#include "tools/report/compare_report.hpp"
#include "tools/report/run_report.hpp"

namespace lockstep::report {

std::string explored_step(const ExploredStep& step) {
  return step_page(step.scenario, step.simulation).packed(PackedFor::reading_now);
}

StepBesideAnother beside_another(const std::string& name, const ExploredStep& step) {
  return {output::read_compared(name, output::inputs_of(step.scenario, step.simulation.preparation),
                                result_json(step.scenario, step.simulation, output::WallTimes::hidden)),
          packed_timeline(name, step.simulation)};
}

std::string explored_pair(const StepBesideAnother& pinned, const StepBesideAnother& now) {
  return comparison_page({pinned.figures, now.figures}, {pinned.timeline, now.timeline}).packed(PackedFor::reading_now);
}

}  // namespace lockstep::report
