#pragma once
/// What a scenario is, in a few words for each input.
#include <string>
#include <utility>
#include <vector>

#include "sim/simulate.hpp"

namespace lockstep {

/// In reading order: (what, value). Scenarios with equal inputs are simulated alike as far as these go.
using ScenarioInputs = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] ScenarioInputs inputs_of(const Scenario& scenario, const Preparation& preparation);

}  // namespace lockstep
