#pragma once
/// The first screen of `lockstep run`: what a planner came for.
#include <string>

#include "sim/simulate.hpp"

namespace lockstep {

[[nodiscard]] std::string summary(const Scenario& scenario, const Simulation& simulation);

/// Every span of the critical rank, in program order, for --dump=timeline.
[[nodiscard]] std::string timeline_text(const Simulation& simulation);

}  // namespace lockstep
