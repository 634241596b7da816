#include "sim/simulate.hpp"

#include <algorithm>

#include "sim/metrics/idle.hpp"
#include "sim/preparation/documents.hpp"

namespace lockstep {
namespace {

/// Operations of all draws together: a step with many classes of ranks is timed under fewer seeds.
constexpr std::int64_t most_operations_of_draws = 20'000'000;

/// The step under further seeds of the cause of this name (`causes_of`), those of all others as they are; nothing if
/// the scenario does not have it. `doing`: what is told meanwhile.
std::optional<StepDraws> drawn(std::string_view name, std::string_view doing, const scenario::Scenario& scenario,
                               const SimulateOptions& options, const Simulation& first, spdlog::logger& log) {
  if (options.draws <= 1) return {};
  const auto causes = causes_of(scenario);
  const auto cause = std::find_if(causes.begin(), causes.end(), [&](const auto& one) { return one.name == name; });
  if (cause == causes.end()) return {};
  const auto operations = std::max<std::int64_t>(1, std::ssize(first.program.ops) * first.ranks.count());
  const auto further = std::min<std::int64_t>(options.draws - 1, most_operations_of_draws / operations);
  SimulateOptions alone;
  alone.engine = options.engine == engine::EngineKind::reference ? options.engine : engine::EngineKind::max_min;
  alone.fold = options.fold;
  alone.detail = Detail::totals;
  std::vector<Seconds> times{first.metrics.step_time};
  for (std::int64_t draw = 1; draw <= further; ++draw) {
    if (options.progress) options.progress(doing, static_cast<double>(draw) / static_cast<double>(further + 1));
    times.push_back(simulate(cause->under(scenario, static_cast<std::uint64_t>(draw)), alone, log).metrics.step_time);
  }
  return StepDraws(std::move(times));
}

}  // namespace

namespace {

/// `folds`: none for a step by itself, whose folding need not be kept.
Simulation simulate(const scenario::Scenario& scenario, const SimulateOptions& options, spdlog::logger& log,
                    preparation::KnownMachines& known, program::KnownFolds* folds) {
  auto tell = [&](std::string_view stage, double fraction) {
    if (options.progress) options.progress(stage, fraction);
  };
  if (options.steps > 0) preparation::refuse_local_updates(scenario, "draws of steps are not made site by site");
  tell("preparing", 0);
  auto prepared = preparation::prepare(scenario, known);  // machine, sharded model, pipeline
  const auto building = step_options(scenario, prepared.model);
  timing::TimingOptions timing;
  timing.engine = {options.engine, [&](double fraction) { tell("simulating", fraction); }, options.record_phases};
  timing.fold = options.fold;
  timing.folds = folds;
  timing.most_operations = options.most_operations;
  auto timed = timed_step(scenario, prepared, prepared.model.layers, building, timing, log);  // step graph to timeline
  auto simulation = measured(scenario, std::move(prepared), std::move(timed), options.detail);
  simulation.routing_draws = drawn("hashed paths", "drawing paths", scenario, options, simulation, log);
  simulation.document_draws = drawn("documents", "drawing documents", scenario, options, simulation, log);
  if (options.steps > 0)
    simulation.distribution =
        step_distribution(scenario, simulation.preparation, simulation.metrics.step_time,
                          {options.steps, options.engine, options.fold, options.how_drawn, options.progress}, log);
  tell("done", 1);
  return simulation;
}

}  // namespace

Simulation simulate(const scenario::Scenario& scenario, const SimulateOptions& options, spdlog::logger& log) {
  preparation::KnownMachines none;
  return simulate(scenario, options, log, none, nullptr);
}

Simulation simulate(const scenario::Scenario& scenario, const SimulateOptions& options, spdlog::logger& log,
                    preparation::KnownMachines& known) {
  return simulate(scenario, options, log, known, &known.folds());
}

Simulation measured(const scenario::Scenario& scenario, preparation::Preparation prepared, timing::TimedStep timed,
                    Detail detail) {
  auto& [step, folded, run, fold_seconds, local_updates] = timed;
  preparation::PreparedStep whole{std::move(prepared), std::move(step)};
  auto metrics = measure(scenario, whole, folded.program, run.timeline, detail);
  if (local_updates) {
    for (const auto& held : whole.step.held) {
      local_updates->state = std::max(local_updates->state, held.outer_state);
      local_updates->buffers = std::max(local_updates->buffers, held.buffers);
    }
    add_local_updates(metrics, std::move(*local_updates));
  }
  const auto rank = folded.ranks.representative[metrics.critical_rank];
  return {std::move(whole),
          std::move(folded.program),
          std::move(folded.ranks),
          folded.link_classes,
          folded.links,
          fold_seconds,
          std::move(run),
          std::move(metrics),
          rank,
          std::move(folded.link_members),
          {},
          {},
          {},
          {}};
}

namespace {

/// The memory of a rank's chip, or the least that a rank of a stage has.
Bytes memory_of_chip(const preparation::Preparation& preparation, const program::Program& program, std::int32_t lane) {
  return preparation.machine.cluster->chips()[program.chip_of(lane)].capacity();
}
Bytes least_memory(const preparation::Preparation& preparation, const program::Program& program, std::int32_t stage) {
  if (preparation.machine.cluster->chips().count() == 1) return preparation.machine.cluster->chip().capacity();
  std::optional<Bytes> least;
  for (std::int32_t lane = 0; lane < program.ranks(); ++lane) {
    if (program.stage_of_rank[lane] != stage) continue;
    const auto own = memory_of_chip(preparation, program, lane);
    least = least ? std::min(*least, own) : own;
  }
  return *least;
}

void measure_lane(const preparation::PreparedStep& preparation, const program::Program& program,
                  const timeline::Timeline& timeline, std::int32_t lane, metrics::Metrics& metrics) {
  metrics.breakdown = metrics::breakdown_of(program, timeline, lane);
  if (metrics.local_updates) add_local_updates(metrics.breakdown, *metrics.local_updates);
  metrics.communication = metrics::communication_of(preparation.step, program, timeline, lane);
  metrics.memory =
      metrics::memory_of(preparation.step, program, timeline, lane, memory_of_chip(preparation, program, lane));
}

}  // namespace

void look_at(Simulation& simulation, topologies::RankId rank) {
  simulation.rank = rank;
  simulation.metrics.critical_rank = simulation.ranks.class_of_rank[rank];
  measure_lane(simulation.preparation, simulation.program, simulation.run.timeline, simulation.metrics.critical_rank,
               simulation.metrics);
}

namespace {

/// Of chips of one kind the one that holds more is fuller, of several the one that has less to spare.
bool is_fuller(const metrics::MemoryUse& one, const metrics::MemoryUse& other) {
  return one.peak - one.capacity > other.peak - other.capacity;
}

/// The mean of the chips' peaks, so that utilisation is of their sum.
FlopsPerSecond mean_peak(const scenario::Scenario& scenario, const topologies::Cluster& cluster) {
  const auto rates = preparation::rates_of_chips(scenario);
  if (rates.count() == 1) return rates.front().flops;
  FlopsPerSecond sum(0);
  for (topologies::DeviceId device = 0; device < cluster.devices(); ++device)
    sum += rates[cluster.chip_kind(device)].flops;
  return sum / static_cast<double>(cluster.devices());
}

}  // namespace

metrics::Metrics measure_step(const scenario::Scenario& scenario, const preparation::Preparation& preparation,
                              const timeline::Timeline& timeline) {
  metrics::Metrics metrics;
  metrics.step_time = timeline.makespan();
  metrics.chips = preparation.machine.cluster->devices();
  metrics.tokens = scenario.batch.sequences * scenario.batch.sequence_length;
  metrics.peak = mean_peak(scenario, *preparation.machine.cluster);
  if (!scenario.replay) {
    metrics.parameters = count_parameters(scenario.model).total();
    metrics.model_flops = draws_documents(scenario)
                              ? preparation::flops_of_documents(scenario)
                              : model_flops(scenario.model, scenario.batch.sequences, scenario.batch.sequence_length,
                                            scenario.training.causal_attention);
  }
  return metrics;
}

namespace {

/// All that the pieces of the ranks' time tell.
void measure_pieces(const preparation::PreparedStep& preparation, const program::Program& program,
                    const timeline::Timeline& timeline, Detail detail, metrics::Metrics& metrics) {
  const auto ranks = metrics::last_rank_of_stages(program, timeline);
  for (std::int32_t stage = 0; position_of(stage) < ranks.size(); ++stage)
    metrics.stages.push_back({stage, ranks[position_of(stage)], {}, {}, {}, {}});
  if (detail == Detail::totals) {
    metrics.stages[position_of(program.stage_of_rank[metrics.critical_rank])].breakdown =
        metrics::breakdown_of(program, timeline, metrics.critical_rank);
    return;
  }
  auto stage = metrics.stages.begin();
  const auto measure_lane_of_stage = [&](const metrics::RankPieces& lane, const metrics::IdleTime& idle) {
    stage->breakdown = metrics::breakdown_of(timeline, lane);
    stage->idle = idle;
    if (detail == Detail::causes)
      stage->communication = metrics::communication_of(preparation.step, program, timeline, lane);
    ++stage;
  };
  metrics::for_each_idle(preparation.step, preparation.pipeline, program, timeline, ranks, measure_lane_of_stage);
}

}  // namespace

metrics::Metrics measure(const scenario::Scenario& scenario, const preparation::PreparedStep& preparation,
                         const program::Program& program, const timeline::Timeline& timeline, Detail detail) {
  const auto& step = preparation.step;
  auto metrics = measure_step(scenario, preparation, timeline);
  Flops of_a_rank_of_each_stage(0);
  for (workloads::OpId id = 0; id < step.size(); ++id)
    of_a_rank_of_each_stage += step.op(id)->flops * static_cast<double>(timeline.repetition().runs(id));
  metrics.executed_flops =
      of_a_rank_of_each_stage * (static_cast<double>(metrics.chips) / static_cast<double>(step.held.size()));
  metrics.critical_rank = metrics::critical_rank(timeline);
  measure_pieces(preparation, program, timeline, detail, metrics);
  {
    metrics::StepMemory memory(step, program, timeline);
    for (auto& stage : metrics.stages)
      stage.memory = memory.of(stage.rank, least_memory(preparation, program, program.stage_of_rank[stage.rank]));
  }
  // The critical rank is the last of its stage. Of equal peaks its own counts.
  const auto stage_of_critical = position_of(program.stage_of_rank[metrics.critical_rank]);
  const auto& critical = metrics.stages[stage_of_critical];
  metrics.breakdown = critical.breakdown;
  metrics.communication = critical.communication;
  metrics.memory = critical.memory;
  for (const auto& stage : metrics.stages) {
    if (is_fuller(stage.memory, metrics.memory)) metrics.memory = stage.memory;
  }
  if (detail == Detail::causes) metrics.critical_path = metrics::critical_path_of(step, program, timeline);
  return metrics;
}

}  // namespace lockstep
