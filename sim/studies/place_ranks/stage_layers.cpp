#include "sim/studies/place_ranks/stage_layers.hpp"

#include <cstdlib>

namespace lockstep::place_ranks {

StageLayers layers_of_stages(const preparation::Preparation& prepared) {
  const auto& first = prepared.pipeline.first_block;
  StageLayers layers;
  for (workloads::VirtualStageId stage = 0; stage + 1 < first.count(); ++stage) {
    layers.push_back(0);
    for (auto block = first[stage]; block < first[stage + 1]; ++block)
      layers.back() += prepared.model.layers[prepared.model.order[block]].is_layer ? 1 : 0;
  }
  return layers;
}

std::vector<StageLayers> one_layer_away(const StageLayers& layers) {
  const int stages = static_cast<int>(layers.size());
  std::vector<StageLayers> found;
  for (int distance = 1; distance < stages; ++distance) {
    for (int from = 0; from < stages; ++from) {
      for (const int to : {from + distance, from - distance}) {
        if (to < 0 || to >= stages || layers[position_of(from)] < 2) continue;
        found.push_back(layers);
        --found.back()[position_of(from)];
        ++found.back()[position_of(to)];
      }
    }
  }
  return found;
}

scenario::Scenario with_layers(scenario::Scenario scenario, const StageLayers& layers) {
  scenario.pipeline.layers = layers;
  scenario.pipeline.layers_by_speed = false;
  return scenario;
}

void refuse_other_layers(const scenario::Scenario& scenario, const preparation::Preparation& prepared) {
  const auto refuse = [&](const std::string& key, std::string what, std::string expected) {
    throw ConfigError({{scenario.where(key), key, std::move(what), std::move(expected)}});
  };
  const bool has_pipeline = prepared.machine.mesh->has_axis("pipeline") && prepared.pipeline.first_block.count() > 2;
  if (!has_pipeline || scenario.replay)
    refuse("parallel", "has no pipeline of a model, whose layers could be split", "parallel.pipeline of 2 or more");
  if (!scenario.pipeline.file.empty())
    refuse("pipeline.file", "is an order of its own", "a schedule by name, to search layers");
  if (!scenario.pipeline.layout.empty())
    refuse("pipeline.layout", "says what stands on each stage", "pipeline.layers or neither, to search layers");
  if (scenario.training.recompute_layers)
    refuse("training.recompute.layers", "is a number of layers of each stage, so that another split has other work",
           "all layers, to search layers");
}

}  // namespace lockstep::place_ranks
