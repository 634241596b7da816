#include "tools/report/explore_report.hpp"

#include <future>
#include <utility>

#include "tools/output/results/result_json.hpp"
#include "tools/output/results/scenario_comparison.hpp"
#include "tools/report/compare_report.hpp"
#include "tools/report/run_report.hpp"
#include "tools/report/timeline_data.hpp"

namespace lockstep::report {

std::string explored_step(const ExploredStep& step) {
  return step_page(step.scenario, step.simulation).packed(PackedFor::reading_now);
}

StepBesideAnother beside_another(const std::string& name, const ExploredStep& step) {
  auto timeline = std::async(std::launch::async, [&] { return packed_timeline(name, step.simulation, 1); });
  auto figures = output::read_compared(name, output::inputs_of(step.scenario, step.simulation.preparation),
                                       result_json(step.scenario, step.simulation, output::WallTimes::hidden));
  return {std::move(figures), timeline.get()};
}

std::string explored_pair(const StepBesideAnother& pinned, const StepBesideAnother& now) {
  return comparison_page({pinned.figures, now.figures}, {pinned.timeline, now.timeline}).packed(PackedFor::reading_now);
}

}  // namespace lockstep::report
