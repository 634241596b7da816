#pragma once
/// What runs cost, side by side: text, JSON and the picture of power over a step.
#include <string>
#include <vector>

#include "sim/studies/economics/run_cost.hpp"

namespace lockstep::output {

struct CostedScenario {
  std::string name;
  economics::RunCost cost;
};

/// What is the same for all of them.
struct CostAim {
  double tokens = 0;
  std::string currency;
};

/// One run's part of the JSON, and the run that such a text is of.
[[nodiscard]] std::string run_cost_json(const economics::RunCost& cost);
[[nodiscard]] economics::RunCost read_run_cost(const std::string& json);

[[nodiscard]] std::string cost_text(const std::vector<CostedScenario>& runs, const CostAim& aim);
[[nodiscard]] std::string cost_json(const std::vector<CostedScenario>& runs, const CostAim& aim);
/// Power at the site over one step, a line for each scenario; SVG.
[[nodiscard]] std::string power_picture(const std::vector<CostedScenario>& runs);

}  // namespace lockstep::output
