#include "sim/studies/planning/plan_figures.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "sim/studies/isolated.hpp"
#include "sim/timing/timed_step.hpp"

namespace lockstep::planning {
namespace {

/// Keeps only those metrics of a run that a comparison of plans shows.
PlanFigures figures_of(const scenario::Scenario& scenario, const preparation::PreparedStep& preparation,
                       const program::Program& program, const timeline::Timeline& timeline) {
  PlanFigures figures;
  const auto rank = metrics::critical_rank(timeline);
  const auto breakdown = metrics::breakdown_of(program, timeline, rank);
  figures.step_s = timeline.makespan().value();
  figures.compute_s = breakdown.compute.value();
  figures.bubble_s = breakdown.bubble.value();
  for (const auto& use : metrics::communication_of(preparation.step, program, timeline, rank)) {
    const auto name = topologies::axis_part(use.axis).axis;
    const auto axis = std::find(plan_axes.begin(), plan_axes.end(), name == "fsdp" ? "data" : name);
    figures.exposed_s[position_of(axis - plan_axes.begin())] += use.exposed.value();
  }
  figures.mfu = measure_step(scenario, preparation, timeline).mfu();
  const auto capacity = preparation.machine.cluster->chip().capacity();
  metrics::StepMemory memories(preparation.step, program, timeline);
  auto fullest = memories.of(rank, capacity);
  for (const auto lane : metrics::last_rank_of_stages(program, timeline)) {
    auto memory = memories.of(lane, capacity);
    if (memory.peak > fullest.peak) fullest = std::move(memory);
  }
  figures.peak_bytes = fullest.peak.value();
  figures.weights_bytes = fullest.weights.value();
  figures.gradients_bytes = fullest.gradients.value();
  figures.optimizer_bytes = fullest.optimizer.value();
  figures.activations_bytes = fullest.activations.value();
  figures.other_bytes = fullest.other().value();
  return figures;
}

}  // namespace

PlanFigures simulated_figures(const scenario::Scenario& scenario, engine::EngineKind engine, spdlog::logger& log) {
  auto prepared = preparation::prepare(scenario);
  auto timed = timing::timed_step(scenario, prepared, prepared.model.layers, step_options(scenario, prepared.model),
                                  {{engine, {}, false}}, log);
  return figures_of(scenario, {std::move(prepared), std::move(timed.step)}, timed.folded.program, timed.run.timeline);
}

PlanFigures figures_in_child(const scenario::Scenario& scenario, engine::EngineKind engine, spdlog::logger& log) {
  engine::load(engine);
  ::malloc_trim(0);  // the child would count what is free here as its own
  const auto text = studies::in_child([&] {
    const auto figures = simulated_figures(scenario, engine, log);
    return std::string(reinterpret_cast<const char*>(&figures), sizeof figures);
  });
  PlanFigures figures;
  std::memcpy(&figures, text.data(), std::min(text.size(), sizeof figures));
  return figures;
}

std::optional<PlanFigures> figures_of_file(const scenario::Scenario& scenario, engine::EngineKind engine,
                                           spdlog::logger& log) {
  if (scenario.mesh.empty()) return std::nullopt;
  const auto used = engine == engine::EngineKind::reference ? engine : engine::EngineKind::max_min;
  try {
    return figures_in_child(scenario, used, log);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

}  // namespace lockstep::planning
