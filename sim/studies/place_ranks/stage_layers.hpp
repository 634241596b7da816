#pragma once
/// How many layers each stage of a pipeline has, and splits near to that.
#include <cstdint>
#include <vector>

#include "sim/preparation/preparation.hpp"

namespace lockstep::place_ranks {

using StageLayers = std::vector<std::int64_t>;  ///< by stage of the model

[[nodiscard]] StageLayers layers_of_stages(const preparation::Preparation& prepared);
/// One layer has gone from a stage with more than one to another: neighbours first.
[[nodiscard]] std::vector<StageLayers> one_layer_away(const StageLayers& layers);
/// The scenario with this split.
[[nodiscard]] scenario::Scenario with_layers(scenario::Scenario scenario, const StageLayers& layers);
/// Throws ConfigError where a scenario has no split of layers that could be another one: without a pipeline, with an
/// order of its own from a file or a layout, and where what is recomputed depends on the stage.
void refuse_other_layers(const scenario::Scenario& scenario, const preparation::Preparation& prepared);

}  // namespace lockstep::place_ranks
