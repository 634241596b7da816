#include "sim/timing/step_time.hpp"

#include <algorithm>

#include "sim/timing/joined_steps.hpp"
#include "sim/timing/timed_step.hpp"

namespace lockstep::timing {
namespace {

/// Whether joined steps take the same time. They do not if two halves run beside each other, since their steps take
/// turns on the compute stream; if backwards are split, since dependencies follow from which part comes first; or if
/// collectives slow down the kernels beside them, since that is decided step by step.
bool can_be_joined(const scenario::Scenario& scenario, const workloads::PipelineOrder& order) {
  const auto whole = [](const workloads::PipelineCell& cell) {
    const bool split = cell.first.work == workloads::PipelineWork::input_gradient ||
                       cell.first.work == workloads::PipelineWork::weight_gradient;
    return !split && !cell.second;
  };
  return !kernels_slow_down(scenario) && std::all_of(order.ranks.begin(), order.ranks.end(), [&](const auto& cells) {
    return std::all_of(cells.begin(), cells.end(), whole);
  });
}

}  // namespace

workloads::ShardedLayers joined_layers(const scenario::Scenario& scenario, const preparation::ShardedModel& model) {
  const auto rates = preparation::rates_of(scenario);
  const auto options = step_options(scenario, model);
  workloads::ShardedLayers joined;
  for (const auto& layer : model.layers) joined.push_back(with_joined_steps(layer, rates, options));
  return joined;
}

Seconds step_time(const scenario::Scenario& scenario, const preparation::Machine& machine,
                  const preparation::ShardedModel& model, const workloads::ShardedLayers& joined,
                  engine::EngineKind engine, spdlog::logger& log) {
  const preparation::Preparation prepared{machine, model, place_pipeline(scenario, machine, model)};
  auto options = step_options(scenario, model);
  options.memory = false;
  const engine::EngineKind used = engine == engine::EngineKind::reference ? engine : engine::EngineKind::max_min;
  const auto& layers = can_be_joined(scenario, prepared.pipeline.order) ? joined : model.layers;
  return timed_step(scenario, prepared, layers, options, {{used, {}, false}}, log).step_time();
}

}  // namespace lockstep::timing
