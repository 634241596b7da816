#include "sim/studies/roofline/study.hpp"

#include <algorithm>
#include <cmath>

#include "sim/collectives/collective.hpp"
#include "sim/program/lower.hpp"
#include "sim/studies/isolated.hpp"
#include "sim/studies/roofline/threshold_search.hpp"
#include "topologies/torus/torus.hpp"

namespace lockstep::roofline {
namespace {

/// The book's layer at the scenario's sizes on a cluster of its own.
scenario::Scenario two_matmul(const scenario::Scenario& scenario, std::vector<int> shape,
                              const workloads::Parallel& parallel) {
  auto result = layers_of_the_book(scenario);
  auto& torus = result.cluster.unit.emplace<topologies::TorusSpec>(*scenario.cluster.torus());
  torus.shape = std::move(shape);
  result.parallel = parallel;
  if (parallel.tensor > 1) result.mesh.push_back({"tensor", static_cast<int>(parallel.tensor), std::nullopt});
  if (parallel.fsdp > 1) result.mesh.push_back({"fsdp", static_cast<int>(parallel.fsdp), std::nullopt});
  result.batch = {parallel.fsdp, 1, 1};
  return result;
}

std::vector<int> long_axes(const scenario::Scenario& scenario) {
  std::vector<int> sizes;
  for (const int size : scenario.cluster.torus()->shape) {
    if (size > 1) sizes.push_back(size);
  }
  return sizes;
}

std::string shape_text(const std::vector<int>& shape) {
  std::string text;
  for (const int size : shape) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

FsdpThreshold fsdp_on(const scenario::Scenario& scenario, const ChipBalance& balance, const std::vector<int>& shape,
                      spdlog::logger& log) {
  workloads::Parallel parallel;
  for (const int size : shape) parallel.fsdp *= size;
  const auto trial = two_matmul(scenario, shape, parallel);
  FsdpThreshold result;
  result.group = shape_text(shape);
  result.book = fsdp_threshold(balance, static_cast<int>(shape.size()));
  // Exact: gathering 4 D F bytes a layer takes cost(); computing takes 4 b D F / C for b tokens per chip.
  const auto preparation = preparation::prepare_step(trial);
  const double weights = 4.0 * static_cast<double>(trial.model.d_model * trial.model.d_ff);
  const auto gather = collectives::cost(workloads::CollectiveKind::all_gather,
                                        preparation.machine.mesh->dimensions({"fsdp"}), Bytes(std::llround(weights)));
  result.exact = gather.value() * balance.flops.value() / weights;
  result.simulated =
      simulated_token_threshold(trial, result.exact / 4, result.exact * 4, 1e-3, [&](const scenario::Scenario& s) {
        return estimate_one_rank(s, preparation::prepare_step(s), log).exposed_comm;
      });
  return result;
}

TensorLimit tensor_on_rings(const scenario::Scenario& scenario, const ChipBalance& balance, spdlog::logger& log) {
  TensorLimit result{tensor_limit(balance, static_cast<double>(scenario.model.d_ff), 1), 1, {}};
  const auto& torus = *scenario.cluster.chip().torus;
  for (int size = 2; size <= 64; ++size) {
    if (!torus.wrap.wraps(size) || scenario.model.d_model % size != 0 || scenario.model.d_ff % size != 0) continue;
    workloads::Parallel parallel;
    parallel.tensor = size;
    auto trial = two_matmul(scenario, {size}, parallel);
    if (!why_not_a_slice(*trial.cluster.torus()).empty()) continue;
    trial.derive.collective_matmul = true;
    trial.batch = {1 << 16, 1, 1};
    const auto exposed = exposed_per_layer(trial, [&](const scenario::Scenario& s) {
      return estimate_one_rank(s, preparation::prepare_step(s), log).exposed_comm;
    });
    result.tried.push_back(size);
    const auto one = estimate_one_rank(trial, preparation::prepare_step(trial), log);
    if (exposed < one.step_time * 1e-6) result.simulated = size;
  }
  return result;
}

/// The scenario itself with its chips split another way and placed by default.
scenario::Scenario resplit(const scenario::Scenario& scenario, const MixedPlan& plan) {
  auto trial = scenario;
  trial.mesh.clear();
  trial.plan = {};
  if (plan.tensor > 1) trial.mesh.push_back({"tensor", static_cast<int>(plan.tensor), std::nullopt});
  if (plan.fsdp > 1) trial.mesh.push_back({"fsdp", static_cast<int>(plan.fsdp), std::nullopt});
  return trial;
}

Split try_split(const scenario::Scenario& scenario, const RooflineStudy& study, const MixedPlan& plan,
                spdlog::logger& log) {
  Split split;
  split.plan = plan;
  split.math = math_time(study.balance, study.layer, static_cast<double>(study.chips));
  split.fsdp = plan.fsdp > 1 ? fsdp_time(study.balance, study.layer, static_cast<double>(plan.tensor),
                                         plan.tensor > 1 ? study.fsdp_axes : study.fsdp_axes + study.tensor_axes)
                             : Seconds(0);
  split.tensor = plan.tensor > 1
                     ? tensor_time(study.balance, study.layer, static_cast<double>(plan.fsdp), study.tensor_axes)
                     : Seconds(0);
  const auto trial = resplit(scenario, plan);
  try {
    const auto preparation = preparation::prepare_step(trial);
    for (const auto& axis : preparation.machine.mesh->axes()) {
      split.placement += (split.placement.empty() ? "" : "; ") + axis.name + ":";
      const auto dimensions = preparation.machine.mesh->dimensions({axis.name});
      for (const auto& dimension : dimensions)
        split.placement += (&dimension == &dimensions.front() ? " " : ", ") + dimension.label;
    }
    const auto estimate = estimate_one_rank(trial, preparation, log);
    split.without_contention = estimate.step_time;
    const auto outcome = studies::simulate_isolated(trial, engine::EngineKind::simgrid, log);
    split.fit = studies::fit_of(Bytes(outcome.peak_bytes), Bytes(outcome.capacity_bytes));
    split.with_contention = Seconds(outcome.step_s);
  } catch (const ConfigError& error) {
    split.refused = error.problems().front().what;
  }
  return split;
}

}  // namespace

scenario::Scenario layers_of_the_book(const scenario::Scenario& scenario) {
  scenario::Scenario layers;
  layers.name = scenario.name;
  layers.model.name = "two-matmul";
  layers.model.attention = false;
  layers.model.gated = false;
  layers.model.layers = 4;
  layers.model.d_model = scenario.model.d_model;
  layers.model.d_ff = scenario.model.d_ff;
  layers.training = scenario.training;
  return layers;
}

Estimate estimate_one_rank(const scenario::Scenario& scenario, const preparation::PreparedStep& preparation,
                           spdlog::logger& log) {
  const auto program = lower_one_rank_per_stage(preparation.step, *preparation.machine.collectives,
                                                preparation::rates_of(scenario), scenario.lower);
  const auto result = engine::run(program, {engine::EngineKind::reference, {}}, log);
  const auto critical = metrics::critical_rank(result.timeline);
  Estimate estimate{
      result.timeline.makespan(), metrics::breakdown_of(program, result.timeline, critical).exposed_comm, {}};
  for (std::int32_t rank = 0; rank < program.ranks(); ++rank) {
    const auto memory = metrics::memory_of(preparation.step, program, result.timeline, rank,
                                           preparation.machine.cluster->chip().capacity());
    if (rank == 0 || memory.peak > estimate.memory.peak) estimate.memory = memory;
  }
  return estimate;
}

RooflineStudy study_roofline(const scenario::Scenario& scenario, spdlog::logger& log,
                             const std::function<void(std::string_view, double)>& progress) {
  preparation::refuse_local_updates(scenario, "a roofline is drawn of one step");
  if (scenario.replay) {
    throw ConfigError(
        {{scenario.where("model.replay"), "model.replay",
          "replayed operations have no FLOPs and no bytes to draw a roofline of", "a model by its shape"}});
  }
  if (scenario.cluster.torus() == nullptr || scenario.cluster.units > 1) {
    throw ConfigError({{scenario.where("cluster"), "cluster", "the closed forms of the roofline are those of one torus",
                        "a slice of a pod, such as tpu-v5p:16x20x28"}});
  }
  RooflineStudy study;
  const auto axes = long_axes(scenario);
  study.balance = balance_of(scenario.cluster.chip(), scenario.training.precision);
  const double tokens = static_cast<double>(scenario.batch.sequences * scenario.batch.sequence_length);
  study.layer = {tokens, static_cast<double>(scenario.model.d_model), static_cast<double>(scenario.model.d_ff)};
  study.chips = scenario.chips();
  study.fsdp_axes = std::max(1, static_cast<int>(axes.size()) - 1);
  study.tokens_per_chip = tokens / static_cast<double>(study.chips);
  study.best_fsdp = best_fsdp_size(study.layer, static_cast<double>(study.chips), study.fsdp_axes, study.tensor_axes);
  study.mixed_need = mixed_threshold(study.balance, study.layer.d_ff, study.fsdp_axes, study.tensor_axes);
  study.fsdp_alone_hides =
      study.tokens_per_chip > fsdp_threshold(study.balance, std::max<int>(1, static_cast<int>(axes.size())));
  study.named = study.fsdp_alone_hides ? MixedPlan{study.chips, 1} : nearest_plan(study.best_fsdp, study.chips);
  if (axes.empty()) return study;

  for (std::size_t many = 1; many <= axes.size(); ++many) {
    progress("searching FSDP thresholds", static_cast<double>(many - 1) / static_cast<double>(axes.size()));
    study.thresholds.push_back(
        fsdp_on(scenario, study.balance, {axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(many)}, log));
  }
  progress("searching the tensor limit", 0);
  study.tensor = tensor_on_rings(scenario, study.balance, log);

  std::vector<MixedPlan> plans;
  for (std::int64_t tensor = 1;
       tensor <= 4 * std::max<std::int64_t>(study.named.tensor, 4) && study.chips % tensor == 0; tensor *= 2) {
    plans.push_back({study.chips / tensor, tensor});
  }
  for (const auto& plan : plans) {
    progress("simulating splits", static_cast<double>(study.splits.size()) / static_cast<double>(plans.size()));
    study.splits.push_back(try_split(scenario, study, plan, log));
  }
  progress("done", 1);
  return study;
}

}  // namespace lockstep::roofline
