#pragma once
/// What the explorer's page shows of a step: the panels of reports, packed.
#include <string>

#include "sim/simulate.hpp"

namespace lockstep::report {

struct ExploredStep {
  const scenario::Scenario& scenario;
  const Simulation& simulation;
};

[[nodiscard]] std::string explored_step(const ExploredStep& step);
/// The step beside one that was pinned.
[[nodiscard]] std::string explored_pair(const ExploredStep& pinned, const ExploredStep& now);

}  // namespace lockstep::report
