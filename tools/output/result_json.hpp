#pragma once
/// result.json: the keys of the result, with the unit in each name. Keys are stable; see docs/models/metrics.md.
#include <string>

#include "sim/simulate.hpp"

namespace lockstep {

[[nodiscard]] std::string result_json(const Scenario& scenario, const Simulation& simulation);
[[nodiscard]] std::string version();

}  // namespace lockstep
