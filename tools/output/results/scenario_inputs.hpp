#pragma once
/// A description of a scenario, in a few words for each input.
#include <string>
#include <utility>
#include <vector>

#include "sim/simulate.hpp"

namespace lockstep::output {

[[nodiscard]] std::string model_text(
    const scenario::Scenario& scenario);  ///< its name, or "a model of 4 layers" where the file describes it
[[nodiscard]] std::string chips_text(
    const scenario::Scenario& scenario);  ///< "512 h100", or "16 chips" where the file describes them

/// Its name, that of the file with its order, or "none" without a pipeline.
[[nodiscard]] std::string schedule_text(const scenario::Scenario& scenario, const workloads::PipelineOrder& order);

/// In reading order: (what, value). Scenarios with equal inputs are simulated alike as far as these go.
using ScenarioInputs = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] ScenarioInputs inputs_of(const scenario::Scenario& scenario, const preparation::Preparation& preparation);

}  // namespace lockstep::output
