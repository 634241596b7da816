#include "sim/timing/step_time.hpp"

#include <algorithm>
#include <utility>

#include "sim/program/fold.hpp"
#include "sim/timing/joined_steps.hpp"
#include "sim/timing/steady_periods.hpp"
#include "workloads/pipeline/verify_order.hpp"

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
  return scenario.time_model != cost::TimeModel::calibrated &&
         std::all_of(order.ranks.begin(), order.ranks.end(),
                     [&](const auto& cells) { return std::all_of(cells.begin(), cells.end(), whole); });
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
  preparation::Preparation preparation{machine, model, place_pipeline(scenario, machine, model), {}};
  const auto whole = preparation.pipeline;
  const auto& layers = can_be_joined(scenario, whole.order) ? joined : model.layers;
  auto options = step_options(scenario, model);
  options.memory = false;
  const engine::EngineKind used = engine == engine::EngineKind::reference ? engine : engine::EngineKind::max_min;
  const auto simulated = [&] {
    preparation.step = build_step(layers, preparation.pipeline.kinds, preparation.pipeline, options);
    auto folded = fold(lower_with_perturbations(scenario, preparation));
    auto timeline = engine::run(folded.program, {used, {}, false}, log).timeline;
    return std::pair{std::move(folded.program), std::move(timeline)};
  };

  const auto steady = options.expert_load.variation > 0 ? std::nullopt : steady_periods(whole.order);
  for (std::size_t kept = 6; steady && kept < steady->periods(); kept *= 2) {
    auto periods = *steady;
    const auto fewer = steady->periods() - kept;
    preparation.pipeline.order = without_periods(whole.order, fewer, periods);
    if (!verify_order(preparation.pipeline.order).empty()) break;  // work put off for many microbatches is missing then
    const auto [program, timeline] = simulated();
    const auto period = repeated_period(preparation.step, preparation.pipeline, periods, program, timeline);
    if (period) return timeline.makespan() + *period * static_cast<double>(fewer);
  }
  preparation.pipeline = whole;
  return simulated().second.makespan();
}

}  // namespace lockstep::timing
