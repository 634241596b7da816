#pragma once
/// Steps as a distribution, in text and JSON: what all that varies does to the step together, and what each cause does.
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/step_distribution.hpp"

namespace lockstep::output {

/// A table of the causes, the slowest of many steps, and how the draws were simulated.
[[nodiscard]] std::string distribution_text(const StepDistribution& distribution);
/// Histograms of the steps under each cause alone and all together, beside the healthy step, as SVG.
[[nodiscard]] std::string draws_picture(const StepDistribution& distribution);
[[nodiscard]] nlohmann::ordered_json distribution_json(const StepDistribution& distribution);

}  // namespace lockstep::output
