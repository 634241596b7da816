#pragma once
/// What the explorer's page shows of a step: the panels of reports, packed.
#include <string>

#include "sim/simulate.hpp"
#include "tools/output/results/scenario_comparison.hpp"

namespace lockstep::report {

struct ExploredStep {
  const scenario::Scenario& scenario;
  const Simulation& simulation;
};

/// A step's part of a page that shows two.
struct StepBesideAnother {
  output::ComparedScenario figures;
  std::string timeline;  ///< packed
};

[[nodiscard]] std::string explored_step(const ExploredStep& step);
/// `name`: what the page calls the step.
[[nodiscard]] StepBesideAnother beside_another(const std::string& name, const ExploredStep& step);
[[nodiscard]] std::string explored_pair(const StepBesideAnother& pinned, const StepBesideAnother& now);

}  // namespace lockstep::report
