#include "sim/simulate.hpp"

#include <chrono>

namespace lockstep {

FoldedStep folded_step(const scenario::Scenario& scenario, bool fold, program::FoldedLinks links) {
  auto preparation = preparation::prepare(scenario);             // cluster, mesh, plan, step graph
  auto whole = lower_with_perturbations(scenario, preparation);  // program of all ranks
  const auto started = std::chrono::steady_clock::now();
  auto folded = fold ? lockstep::program::fold(std::move(whole), links)
                     : unfolded(std::move(whole));  // one rank per symmetry class
  const std::chrono::duration<double> folding = std::chrono::steady_clock::now() - started;
  return {std::move(preparation), std::move(folded), folding.count()};
}

Simulation simulate(const scenario::Scenario& scenario, const SimulateOptions& options, spdlog::logger& log) {
  if (options.progress) options.progress("preparing", 0);
  return simulate(scenario, folded_step(scenario, options.fold), options, log);
}

Simulation simulate(const scenario::Scenario& scenario, FoldedStep step, const SimulateOptions& options,
                    spdlog::logger& log) {
  auto tell = [&](std::string_view stage, double fraction) {
    if (options.progress) options.progress(stage, fraction);
  };
  auto& [preparation, folded, fold_seconds] = step;
  const engine::EngineOptions engine{options.engine, [&](double fraction) { tell("simulating", fraction); },
                                     options.record_phases};
  auto result = run(folded.program, engine, log);  // timeline
  auto metrics = measure(scenario, preparation, folded.program, result.timeline);
  const auto rank = folded.ranks.representative[static_cast<std::size_t>(metrics.critical_rank)];
  tell("done", 1);
  return {std::move(preparation),
          std::move(folded.program),
          std::move(folded.ranks),
          folded.link_classes,
          folded.links,
          fold_seconds,
          std::move(result),
          std::move(metrics),
          rank,
          std::move(folded.link_members),
          {}};
}

namespace {

void measure_lane(const preparation::Preparation& preparation, const program::Program& program,
                  const timeline::Timeline& timeline, std::int32_t lane, metrics::Metrics& metrics) {
  metrics.breakdown = metrics::breakdown_of(program, timeline, lane);
  metrics.communication = metrics::communication_of(preparation.step, program, timeline, lane);
  metrics.memory =
      metrics::memory_of(preparation.step, program, timeline, lane, preparation.machine.cluster->chip().memory);
}

}  // namespace

void look_at(Simulation& simulation, topologies::RankId rank) {
  simulation.rank = rank;
  simulation.metrics.critical_rank = simulation.ranks.class_of_rank[static_cast<std::size_t>(rank)];
  measure_lane(simulation.preparation, simulation.program, simulation.run.timeline, simulation.metrics.critical_rank,
               simulation.metrics);
}

metrics::Metrics measure_step(const scenario::Scenario& scenario, const preparation::Preparation& preparation,
                              const timeline::Timeline& timeline) {
  metrics::Metrics metrics;
  metrics.step_time = timeline.makespan();
  metrics.chips = preparation.machine.cluster->devices();
  metrics.tokens = scenario.batch.sequences * scenario.batch.sequence_length;
  metrics.peak = preparation::rates_of(scenario).flops;
  if (!scenario.replay) {
    metrics.parameters = count_parameters(scenario.model).total();
    metrics.model_flops = model_flops(scenario.model, scenario.batch.sequences, scenario.batch.sequence_length,
                                      scenario.training.causal_attention);
  }
  return metrics;
}

metrics::Metrics measure(const scenario::Scenario& scenario, const preparation::Preparation& preparation,
                         const program::Program& program, const timeline::Timeline& timeline) {
  const auto& step = preparation.step;
  auto metrics = measure_step(scenario, preparation, timeline);
  Flops of_a_rank_of_each_stage(0);
  for (workloads::OpId id = 0; id < step.size(); ++id) of_a_rank_of_each_stage += step.op(id)->flops;
  metrics.executed_flops =
      of_a_rank_of_each_stage * (static_cast<double>(metrics.chips) / static_cast<double>(step.held.size()));
  metrics.critical_rank = metrics::critical_rank(timeline);
  measure_lane(preparation, program, timeline, metrics.critical_rank, metrics);
  const auto lanes = metrics::last_rank_of_stages(program, timeline);
  const auto idle = metrics::idle_of(step, preparation.pipeline, program, timeline, lanes);
  for (std::size_t stage = 0; stage < lanes.size(); ++stage) {
    const auto lane = lanes[stage];
    metrics.stages.push_back(
        {static_cast<std::int32_t>(stage), lane, metrics::breakdown_of(program, timeline, lane), idle[stage],
         metrics::memory_of(step, program, timeline, lane, preparation.machine.cluster->chip().memory)});
    if (metrics.stages.back().memory.peak > metrics.memory.peak) metrics.memory = metrics.stages.back().memory;
  }
  metrics.critical_path = metrics::critical_path_of(step, program, timeline);
  return metrics;
}

}  // namespace lockstep
