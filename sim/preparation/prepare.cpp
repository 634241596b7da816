// Scenario -> Machine, ShardedModel, StepPipeline -> StepGraph -> Program, with every problem placed in the scenario
// file.
#include <algorithm>

#include "sim/collectives/tried_groups.hpp"
#include "sim/preparation/background.hpp"
#include "sim/preparation/documents.hpp"
#include "sim/preparation/expected_places.hpp"
#include "sim/preparation/known_machines.hpp"
#include "sim/preparation/placement_cost.hpp"
#include "sim/preparation/preparing_private.hpp"
#include "sim/program/lower.hpp"

namespace lockstep::preparation {
namespace {

bool all_placed(const scenario::Scenario& scenario) {
  return std::all_of(scenario.mesh.begin(), scenario.mesh.end(),
                     [](const auto& request) { return request.place.has_value(); });
}

/// Sizes that are stated must multiply to the chips before anything is placed.
void check_axis_sizes(const scenario::Scenario& scenario, const topologies::Cluster& cluster) {
  std::int64_t product = 1;
  std::string text;
  for (const auto& request : scenario.mesh) {
    if (request.size == 0 && all_placed(scenario)) return;  // the placement will tell
    if (request.size == 0)
      refuse(scenario, "mesh." + request.name,
             "axis " + request.name + " has a place but no size, and other axes have no place",
             "its size under parallel, or a place for every axis");
    product *= request.size;
    if (product > cluster.devices()) product = cluster.devices() + 1;
    text += (text.empty() ? "" : " x ") + request.name + " " + std::to_string(request.size);
  }
  if (product == cluster.devices()) return;
  if (scenario.mesh.empty() && !all_placed(scenario)) return;
  refuse(scenario, "parallel",
         "the mesh (" + (text.empty() ? "no axes" : text) + ") does not make up the cluster's " +
             std::to_string(cluster.devices()) + " chips",
         "axis sizes that multiply to " + std::to_string(cluster.devices()));
}

[[noreturn]] void refuse_placement(const scenario::Scenario& scenario, const topologies::PlacementError& error) {
  refuse(scenario, "mesh" + (error.axis.empty() ? std::string() : "." + error.axis), error.what, error.expected);
}

/// Where the mesh stands, and the model under it.
struct Placed {
  Machine machine;
  ShardedModel model;
};

/// Places that the scenario gives: they tell the sizes of axes that it leaves out.
Placed placed_as_requested(const scenario::Scenario& scenario,
                           const std::shared_ptr<const topologies::Cluster>& cluster, KnownMachines& known) {
  auto placed = place_as_requested(*cluster, scenario.mesh);
  if (const auto* error = std::get_if<topologies::PlacementError>(&placed)) refuse_placement(scenario, *error);
  auto machine = known.machine(cluster, std::get<0>(std::move(placed)), "as the scenario says", scenario.collectives);
  auto requests = scenario.mesh;
  for (auto& request : requests) request.size = machine.mesh->axis(request.name).size();
  auto model = known.model(scenario, requests);
  return {std::move(machine), std::move(model)};
}

/// The placement on which the model's collectives take the least time.
Placed placed_by_cost(const scenario::Scenario& scenario, const std::shared_ptr<const topologies::Cluster>& cluster,
                      KnownMachines& known) {
  auto model = known.model(scenario, scenario.mesh);
  int tried = 0;
  collectives::TriedGroups groups(*cluster, !scenario.perturbations.empty());
  auto placed = place_by_cost(
      *cluster, scenario.mesh,
      [&](const topologies::Mesh& mesh) { return placement_cost(scenario, model, mesh, groups); }, tried);
  if (const auto* error = std::get_if<topologies::PlacementError>(&placed)) refuse_placement(scenario, *error);
  auto machine =
      known.machine(cluster, std::get<0>(std::move(placed)),
                    "least closed-form time of " + std::to_string(tried) + " candidates", scenario.collectives);
  return {std::move(machine), std::move(model)};
}

[[noreturn]] void refuse_missing_links(const scenario::Scenario& scenario, const std::string& why) {
  refuse(scenario, "perturbations", why, "links that can be avoided");
}

void check_perturbations(const scenario::Scenario& scenario, const topologies::Cluster& cluster) {
  Problems problems;
  for (std::size_t i = 0; i < scenario.perturbations.size(); ++i) {
    const auto key = "perturbations[" + std::to_string(i) + "]";
    const auto why = why_not(scenario.perturbations[i], cluster);
    if (!why.empty())
      problems.add({scenario.where(key), key, why, expected_places(scenario.perturbations[i], cluster)});
  }
  problems.throw_if_any();
}

}  // namespace

topologies::Cluster cluster_of(const scenario::Scenario& scenario) {
  auto cluster = build_cluster(scenario.cluster);
  check_perturbations(scenario, cluster);
  share_links(scenario, cluster);
  cluster.avoid(missing_in_networks(scenario.perturbations, cluster));
  return cluster;
}

/// The load of each block's fullest rank as it was counted; empty: none was.
std::vector<double> counted_loads(const scenario::Scenario& scenario, const ShardedModel& model) {
  const auto& loads = scenario.routing.loads;
  if (loads.empty()) return {};
  const auto has_experts = [&](workloads::KindId kind) {
    const auto& steps = model.layers[kind].forward;
    return std::any_of(steps.begin(), steps.end(), [](const auto& step) { return step.routed; });
  };
  std::vector<double> counted(model.order.size(), 1.0);
  std::size_t layers = 0;
  for (const auto block : model.order.ids()) {
    if (!has_experts(model.order[block])) continue;
    const auto& tokens = loads[std::min(layers, loads.size() - 1)];  // blocks that predict further tokens: as the last
    counted[position_of(block)] = workloads::fullest_of(tokens, model.expert_ranks);
    ++layers;
  }
  const auto further = static_cast<std::size_t>(scenario.model.mtp_modules);
  if (loads.size() > 1 && loads.size() != layers && loads.size() + further != layers)
    refuse(scenario, "routing.loads",
           "counts " + std::to_string(loads.size()) + " layers, the model has " + std::to_string(layers - further) +
               " with experts",
           "one count for all layers, or one for each");
  return counted;
}

workloads::StepOptions step_options(const scenario::Scenario& scenario, const ShardedModel& model) {
  auto options = scenario.step;
  if (scenario.model.experts && !scenario.routing.capacity_factor) {
    options.expert_load = {scenario.routing.variation, scenario.routing.seed, scenario.model.experts->count,
                           model.expert_ranks};
    options.expert_load.counted = counted_loads(scenario, model);
  }
  if (!scenario.lengths.documents.empty()) options.sequence_load = sequence_load(scenario, model.parallel);
  auto& offload = options.offload;
  const bool outer = options.local_updates && options.local_updates->on_host;
  if (!offload.optimizer && offload.activation_layers == 0 && !outer) return options;
  const std::string key =
      scenario.places.contains("training.offload") ? "training.offload" : "training.local_updates.outer_state";
  for (const auto& chip : scenario.cluster.chips()) {
    if (!chip.pcie) refuse(scenario, key, "chip " + chip.name + " has no rate to its host", "a chip with pcie");
    offload.link = offload.link.value() > 0 ? std::min(offload.link, *chip.pcie) : *chip.pcie;
  }
  if (scenario.replay)
    refuse(scenario, "training.offload", "replayed operations have no arrays to move", "no offload with model.replay");
  return options;
}

Preparation prepare(const scenario::Scenario& scenario, KnownMachines& known) {
  (void)rates_of_chips(scenario);
  const auto cluster = known.cluster(scenario);
  check_axis_sizes(scenario, *cluster);
  try {
    auto [machine, model] =
        all_placed(scenario) ? placed_as_requested(scenario, cluster, known) : placed_by_cost(scenario, cluster, known);
    check_lengths(scenario, model.parallel);
    check_size(scenario, model);
    auto pipeline = place_pipeline(scenario, machine, model);
    return {std::move(machine), std::move(model), std::move(pipeline)};
  } catch (const topologies::NoRoute& error) {
    refuse_missing_links(scenario, error.what());
  }
}

Preparation prepare(const scenario::Scenario& scenario) {
  KnownMachines none;
  return prepare(scenario, none);
}

PreparedStep prepare_step(const scenario::Scenario& scenario) {
  auto prepared = prepare(scenario);
  check_step_size(scenario, prepared, scenario.batch.microbatches * scenario.pipeline.slices);
  auto step = build_step(prepared.model.layers, prepared.pipeline.kinds, prepared.pipeline,
                         step_options(scenario, prepared.model));
  return {std::move(prepared), std::move(step)};
}

program::Program lower_with_perturbations(const scenario::Scenario& scenario, const PreparedStep& prepared) {
  return lower_with_perturbations(scenario, prepared, prepared.step);
}

program::Program lower_with_perturbations(const scenario::Scenario& scenario, const Preparation& prepared,
                                          const workloads::StepGraph& step) {
  try {
    const auto rates = rates_of_chips(scenario);
    auto program = lower(step, *prepared.machine.collectives, rates.front(), scenario.lower);
    put_on_chips(program, step, *prepared.machine.mesh, *prepared.machine.cluster, rates);
    const auto why = perturb(program, scenario.perturbations, *prepared.machine.cluster, *prepared.machine.mesh);
    if (!why.empty()) refuse_missing_links(scenario, why);
    check(program);
    refuse_endless_step(scenario, program);
    return program;
  } catch (const topologies::NoRoute& error) {
    refuse_missing_links(scenario, error.what());
  }
}

}  // namespace lockstep::preparation
