// Scenario -> Cluster -> Mesh -> Plan -> StepGraph, with every problem placed in the scenario file.
#include <algorithm>
#include <cmath>
#include <set>

#include "sim/limits.hpp"
#include "sim/placement_cost.hpp"
#include "sim/program/lower.hpp"
#include "sim/weights_of.hpp"
#include "workloads/derived_weights.hpp"
#include "workloads/low_precision.hpp"
#include "workloads/sharding/bounded_elements.hpp"

namespace lockstep {
namespace {

[[noreturn]] void refuse(const Scenario& scenario, const std::string& key, const std::string& what, const std::string& expected) {
  throw ConfigError({{scenario.where(key), key, what, expected}});
}

bool all_placed(const Scenario& scenario) {
  return std::all_of(scenario.mesh.begin(), scenario.mesh.end(), [](const auto& request) { return request.place.has_value(); });
}

/// Sizes that are stated must multiply to the chips before anything is placed.
void check_axis_sizes(const Scenario& scenario, const Cluster& cluster) {
  std::int64_t product = 1;
  std::string text;
  for (const auto& request : scenario.mesh) {
    if (request.size == 0 && all_placed(scenario)) return;  // the placement will tell
    if (request.size == 0) refuse(scenario, "mesh." + request.name, "axis " + request.name + " has a place but no size, and other axes have no place", "its size under parallel, or a place for every axis");
    product *= request.size;
    if (product > cluster.devices()) product = cluster.devices() + 1;
    text += (text.empty() ? "" : " x ") + request.name + " " + std::to_string(request.size);
  }
  if (product == cluster.devices()) return;
  if (scenario.mesh.empty() && !all_placed(scenario)) return;
  refuse(scenario, "parallel", "the mesh (" + (text.empty() ? "no axes" : text) + ") does not make up the cluster's " + std::to_string(cluster.devices()) + " chips",
         "axis sizes that multiply to " + std::to_string(cluster.devices()));
}

Parallel sizes_in(const std::vector<AxisRequest>& requests, Parallel parallel) {
  for (const auto& request : requests) {
    if (request.name == "data") parallel.data = request.size;
    if (request.name == "fsdp") parallel.fsdp = request.size;
    if (request.name == "tensor") parallel.tensor = request.size;
    if (request.name == "context") parallel.context = request.size;
    if (request.name == "expert") parallel.expert = request.size;
  }
  return parallel;
}

/// Puts the user's shardings over the plan; each problem stands at the tensor that has it. Only the whole plan tells which
/// heads have copies, so sizes are checked after all are in place.
void apply_overrides(const Scenario& scenario, Sizes& sizes, Plan& plan) {
  Problems problems;
  std::set<std::string> refused;
  const auto each = [&](const auto& visit) {
    const auto all_of = [&](const std::string& list, std::vector<ShardedTensor> PlanOverrides::*tensors) {
      for (const auto& tensor : scenario.plan.*tensors) {
        const auto key = "plan." + list + "." + tensor.name;
        try {
          if (!refused.contains(key)) visit(tensor, tensors);
        } catch (const ShardingError& error) {
          problems.add({scenario.where(key), key, error.what_is_wrong(), error.expected()});
          refused.insert(key);
        }
      }
    };
    all_of("activations", &PlanOverrides::activations);
    all_of("weights", &PlanOverrides::weights);
    all_of("gradients", &PlanOverrides::gradients);
    all_of("optimizer", &PlanOverrides::optimizer);
  };
  each([&](const ShardedTensor& tensor, auto tensors) {
    PlanOverrides one;
    (one.*tensors) = {tensor};
    apply(one, plan);
    (void)sizes.local_elements(tensor);  // its axes exist
  });
  copy_key_value_heads(plan, sizes);
  each([&](const ShardedTensor& tensor, auto tensors) { tensors == &PlanOverrides::activations ? sizes.check_divides(tensor) : sizes.check_weight_divides(tensor); });
  problems.throw_if_any();
}

/// A layer that follows its like takes over what that one leaves.
void refuse_change_between_layers(const BlockSequence& blocks, const Plan& plan) {
  for (std::size_t i = 1; i < blocks.order.size(); ++i) {
    if (blocks.order[i] != blocks.order[i - 1]) continue;
    const auto& block = blocks.kinds[static_cast<std::size_t>(blocks.order[i])];
    auto left = plan.activations.at(block.output);
    left.name = block.input;
    const auto& taken = plan.activations.at(block.input);
    if (left.same_sharding(taken)) continue;
    throw ShardingError("", "a layer leaves " + plan.activations.at(block.output).to_string() + " but the next takes " + taken.to_string(),
                        block.input + " and " + block.output + " sharded alike");
  }
}

/// The sharding in which each kind of block first gets its input: as the block before it leaves it.
ShardedTensor arriving(const BlockSequence& blocks, const Plan& plan, int kind) {
  const auto first = std::find(blocks.order.begin(), blocks.order.end(), kind);
  const auto& block = blocks.kinds[static_cast<std::size_t>(kind)];
  const auto& name = first == blocks.order.begin() ? block.input : blocks.kinds[static_cast<std::size_t>(*std::prev(first))].output;
  return name.empty() ? ShardedTensor{} : plan.activations.at(name);
}

void check_parallel(const Scenario& scenario, const Parallel& parallel) {
  const auto& model = scenario.model;
  if (parallel.expert > 1 && !model.experts) {
    refuse(scenario, "parallel.expert", "the model has no experts", "1, or a mixture of experts such as mixtral-8x7b");
  }
  if (parallel.context > 1 && !model.attention) {
    refuse(scenario, "parallel.context", "the model has no sequence", "1, or a model with attention");
  }
  const bool pieces = scenario.derive.causal && scenario.derive.balanced_context && scenario.derive.context_attention != ContextAttention::all_to_all;
  if (parallel.context > 1 && pieces && scenario.batch.sequence_length % (2 * parallel.context) != 0) {
    refuse(scenario, "parallel.context", "balanced causal attention needs 2 x " + std::to_string(parallel.context) + " equal pieces of " + std::to_string(scenario.batch.sequence_length) + " tokens",
           "a size of which twice divides the sequence length, or context_order: contiguous");
  }
}

/// Each result that is to be kept is one of a layer's operations.
void check_kept_operations(const Scenario& scenario, const BlockSequence& blocks) {
  std::set<std::string> known;
  for (const auto& block : blocks.kinds) {
    if (!block.is_layer) continue;
    for (const auto& op : block.ops) known.insert(op.name);
  }
  for (const auto& name : scenario.derive.recompute.kept) {
    if (known.contains(name)) continue;
    std::string all;
    for (const auto& each : known) all += (all.empty() ? "" : ", ") + each;
    refuse(scenario, "training.recompute.kept", "no layer of the model has an operation '" + name + "'", "some of " + all);
  }
}

std::int64_t ranks_of_experts(const Parallel& parallel) {
  std::int64_t ranks = 1;
  for (const auto& axis : parallel.experts_over) ranks *= axis == "tensor" ? parallel.tensor : axis == "context" ? parallel.context : parallel.expert;
  return ranks;
}

enum class Derived { blocks, weights };

/// Plan and derived blocks, or their weights alone, for given axis sizes; needs no placement.
void derive_plan(const Scenario& scenario, const std::vector<AxisRequest>& requests, Preparation& preparation, Derived what = Derived::blocks) {
  if (scenario.replay) {
    preparation.blocks = scenario.replay->kinds;
    preparation.order = scenario.replay->order;
    return;
  }
  if (const auto why = why_not_expanded(scenario.model); !why.what.empty()) refuse(scenario, "model", why.what, why.expected);
  const auto parallel = sizes_in(requests, scenario.parallel);
  check_parallel(scenario, parallel);
  const auto blocks = blocks_of(scenario.model, scenario.blocks);
  auto sizes = sizes_of(scenario.model, scenario.batch.sequences / scenario.batch.microbatches, scenario.batch.sequence_length,
                        scenario.routing.capacity_factor.value_or(1.0));
  for (const auto& request : requests) {
    if (request.name != "pipeline") sizes.axes[request.name] = request.size;
  }
  if (scenario.training.flat_zero_shards) sizes.flat_axes = {"data", "fsdp", "context", "expert"};
  preparation.expert_ranks = ranks_of_experts(parallel);
  check_kept_operations(scenario, blocks);
  try {
    preparation.plan = plan_for(blocks, parallel);
    apply_overrides(scenario, sizes, preparation.plan);
    preparation.order = blocks.order;
    preparation.blocks.clear();
    refuse_change_between_layers(blocks, preparation.plan);
    const auto derive_kinds = [&](DerivePolicy policy) {
      policy.accumulates = scenario.batch.microbatches > 1;
      if (const auto& experts = scenario.model.experts) {
        policy.token_copies = {experts->per_token, experts->groups, experts->groups_per_token};
      }
      for (int kind = 0; kind < static_cast<int>(blocks.kinds.size()); ++kind) {
        const auto& block = blocks.kinds[static_cast<std::size_t>(kind)];
        auto derived = what == Derived::weights ? derive_weights(block, preparation.plan, sizes, policy)
                                                : derive_block(block, preparation.plan, sizes, arriving(blocks, preparation.plan, kind), policy);
        complete_updates(derived, block, preparation.plan, sizes);
        keep_unembedding_in_16_bits(derived, block);
        if (element_size(scenario.training.precision) == Bytes(1)) cast_operands_to_8_bits(derived, block);
        if (scenario.training.low_precision_gather) gather_weights_in_8_bits(derived, block);
        keep_weights_in_8_bits(derived, block, scenario.training.low_precision_copies);
        preparation.blocks.push_back(std::move(derived));
      }
    };
    if (scenario.training.recompute_layers) {
      auto kept = scenario.derive;
      kept.recompute = {};
      derive_kinds(kept);
    }
    derive_kinds(scenario.derive);
  } catch (const ArrayTooLarge& error) {
    refuse(scenario, "batch", error.what_is_wrong(), error.expected());
  } catch (const ShardingError& error) {
    const bool user_plan = scenario.places.contains("plan");
    const std::string key = user_plan ? "plan" : "parallel" + (error.axis().empty() ? std::string() : "." + error.axis());
    refuse(scenario, key, error.what_is_wrong(), error.expected());
  }
}

[[noreturn]] void refuse(const Scenario& scenario, const PlacementError& error) {
  refuse(scenario, "mesh" + (error.axis.empty() ? std::string() : "." + error.axis), error.what, error.expected);
}

void place(const Scenario& scenario, Preparation& preparation) {
  const auto& cluster = *preparation.cluster;
  if (all_placed(scenario)) {
    auto placed = place_as_requested(cluster, scenario.mesh);
    if (const auto* error = std::get_if<PlacementError>(&placed)) refuse(scenario, *error);
    preparation.mesh = std::make_unique<Mesh>(cluster, std::get<0>(std::move(placed)), "as the scenario says");
    auto requests = scenario.mesh;
    for (auto& request : requests) request.size = preparation.mesh->axis(request.name).size();
    derive_plan(scenario, requests, preparation);
    return;
  }
  derive_plan(scenario, scenario.mesh, preparation);
  int tried = 0;
  auto placed = place_by_cost(cluster, scenario.mesh, [&](const Mesh& mesh) { return placement_cost(scenario, preparation, mesh); }, tried);
  if (const auto* error = std::get_if<PlacementError>(&placed)) refuse(scenario, *error);
  preparation.mesh = std::make_unique<Mesh>(cluster, std::get<0>(std::move(placed)),
                                            "least closed-form time of " + std::to_string(tried) + " candidates");
}

[[noreturn]] void refuse_missing_links(const Scenario& scenario, const std::string& why) {
  refuse(scenario, "perturbations", why, "links that can be avoided");
}

void check_perturbations(const Scenario& scenario, const Cluster& cluster) {
  Problems problems;
  for (std::size_t i = 0; i < scenario.perturbations.size(); ++i) {
    const auto key = "perturbations[" + std::to_string(i) + "]";
    const auto why = why_not(scenario.perturbations[i], cluster);
    if (!why.empty()) problems.add({scenario.where(key), key, why, "a chip or link of the cluster"});
  }
  problems.throw_if_any();
}

/// "5e6".
std::string power_text(double number) {
  const double exponent = std::floor(std::log10(number) + 1e-9);
  return std::to_string(std::llround(number / std::pow(10, exponent))) + "e" + std::to_string(std::llround(exponent));
}

/// All that a rank writes in one microbatch, and what it keeps, if it ran the whole model.
double bytes_of(const DerivedBlock& block) {
  double bytes = 0;
  for (const auto* pass : {&block.forward, &block.backward}) {
    for (const auto& step : *pass) bytes += static_cast<double>(step.output.value()) + static_cast<double>(step.workspace.value());
  }
  constexpr double state = 4 + 4 + 4 + 4;  // gradient, both moments and a master copy in fp32
  for (const auto& update : block.weights) bytes += static_cast<double>(update.stored.value()) + state * static_cast<double>(std::max(update.gradient_elements, update.optimizer_elements));
  return bytes;
}

/// Refused before memory is spent on it.
void check_size(const Scenario& scenario, const Preparation& preparation) {
  double operations = 0;
  double weights = 0;
  double bytes = 0;
  for (const int kind : preparation.order) {
    const auto& block = preparation.blocks[static_cast<std::size_t>(kind)];
    operations += static_cast<double>(block.forward.size() + block.backward.size() + block.weights.size());
    weights += static_cast<double>(block.weights.size());
    bytes += bytes_of(block);
  }
  const auto microbatches = static_cast<double>(scenario.batch.microbatches);
  if (weights > most_weight_tensors) refuse(scenario, "model", "the model has more than " + power_text(most_weight_tensors) + " weight tensors", "fewer layers");
  operations *= microbatches;
  const int stages = preparation.mesh->has_axis("pipeline") ? preparation.mesh->axis("pipeline").size() : 1;
  if (operations > most_step_operations) {
    refuse(scenario, "batch.microbatches", "the step would have more than " + power_text(most_step_operations) + " operations", "fewer microbatches or layers");
  }
  if (operations * (preparation.cluster->devices() / stages) > most_rank_operations) {
    refuse(scenario, "batch.microbatches", "the step would have more than " + power_text(most_rank_operations) + " operations over all ranks", "fewer microbatches, layers or chips");
  }
  if (bytes * microbatches > most_step_bytes) {
    refuse(scenario, "batch", "the arrays of a step have more than " + power_text(most_step_bytes) + " bytes on one chip", "fewer tokens, or a smaller model");
  }
}

std::string calibrated_chips() {
  std::string names;
  const auto catalog = data_root() / "topologies/catalog";
  for (const auto& name : chip_names(catalog)) {
    Problems problems;
    if (load_chip(catalog, name, problems).kernels) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

const ChipKernels& kernels_of(const Scenario& scenario) {
  const auto& chip = scenario.cluster.chip();
  if (!chip.kernels) refuse(scenario, "model_of_time", "chip " + chip.name + " has no kernel times", "one of " + calibrated_chips() + ", or kernels in the chip's block");
  const auto& reached = chip.kernels->matrix;
  const auto precision = scenario.training.precision;
  const auto needed = {precision, element_size(precision) == Bytes(1) ? Precision::bf16 : precision};
  for (const auto each : needed) {
    if (!reached.contains(each)) {
      refuse(scenario, "model_of_time", "kernels of chip " + chip.name + " are not known in " + std::string(name(each)), "a precision of its kernels.matrix");
    }
  }
  return *chip.kernels;
}

}  // namespace

Cluster cluster_of(const Scenario& scenario) {
  auto cluster = build_cluster(scenario.cluster);
  check_perturbations(scenario, cluster);
  cluster.avoid(missing_in_networks(scenario.perturbations, cluster));
  return cluster;
}

StepOptions step_options(const Scenario& scenario, const Preparation& preparation) {
  auto options = scenario.step;
  if (scenario.model.experts && !scenario.routing.capacity_factor) {
    options.expert_load = {scenario.routing.variation, scenario.routing.seed, scenario.model.experts->count, preparation.expert_ranks};
  }
  auto& offload = options.offload;
  if (!offload.optimizer && offload.activation_layers == 0) return options;
  const auto& chip = scenario.cluster.chip();
  if (!chip.pcie) refuse(scenario, "training.offload", "chip " + chip.name + " has no rate to its host", "a chip with pcie");
  if (scenario.replay) refuse(scenario, "training.offload", "replayed operations have no arrays to move", "no offload beside model.replay");
  offload.link = *chip.pcie;
  return options;
}

Preparation derive_blocks(const Scenario& scenario) {
  Preparation preparation;
  derive_plan(scenario, scenario.mesh, preparation);
  return preparation;
}

Preparation derive_weights(const Scenario& scenario) {
  Preparation preparation;
  derive_plan(scenario, scenario.mesh, preparation, Derived::weights);
  return preparation;
}

Preparation prepare(const Scenario& scenario) {
  (void)rates_of(scenario);
  Preparation preparation;
  preparation.cluster = std::make_unique<const Cluster>(cluster_of(scenario));
  check_axis_sizes(scenario, *preparation.cluster);
  try {
    place(scenario, preparation);
    preparation.collectives = std::make_unique<CollectiveModel>(*preparation.cluster, *preparation.mesh, scenario.collectives);
    check_size(scenario, preparation);
    preparation.pipeline = place_pipeline(scenario, preparation);
  } catch (const NoRoute& error) {
    refuse_missing_links(scenario, error.what());
  }
  preparation.step = build_step(preparation.blocks, preparation.order, preparation.pipeline, step_options(scenario, preparation));
  return preparation;
}

namespace {

void refuse_endless_step(const Scenario& scenario, const Program& program) {
  const auto last_stage = *std::max_element(program.stage_of_rank.begin(), program.stage_of_rank.end());
  std::vector<Seconds> computing(static_cast<std::size_t>(last_stage) + 1);
  for (const auto& op : program.ops) {
    if (op.kind == ProgramOp::Kind::compute) computing[static_cast<std::size_t>(op.stage)] += op.duration;
  }
  for (const auto time : computing) {
    if (time.value() <= longest_step_s) continue;
    refuse(scenario, "batch", "a step of so many tokens computes for " + std::to_string(static_cast<std::int64_t>(time.value() / 86400)) + " days on these chips", "at most 1157 days: fewer tokens, or more or faster chips");
  }
}

}  // namespace

Program lower_with_perturbations(const Scenario& scenario, const Preparation& preparation) {
  try {
    auto program = lower(preparation.step, *preparation.collectives, rates_of(scenario), scenario.lower);
    const auto why = perturb(program, scenario.perturbations, *preparation.cluster, *preparation.mesh);
    if (!why.empty()) refuse_missing_links(scenario, why);
    check(program);
    refuse_endless_step(scenario, program);
    return program;
  } catch (const NoRoute& error) {
    refuse_missing_links(scenario, error.what());
  }
}

ComputeRates rates_of(const Scenario& scenario) {
  const auto& chip = scenario.cluster.chip();
  const auto peak_at = [&](Precision precision, const std::string& for_what) {
    if (const auto peak = chip.peak_for(precision)) return *peak;
    std::string known;
    for (const auto& [has, rate] : chip.peak) known += (known.empty() ? "" : ", ") + std::string(name(has));
    refuse(scenario, "training.precision", "chip " + chip.name + " has no " + std::string(name(precision)) + " rate" + for_what, "one of " + known);
  };
  const auto precision = scenario.training.precision;
  const auto wide = element_size(precision) == Bytes(1) ? Precision::bf16 : precision;
  ComputeRates rates{scenario.time_model, peak_at(precision, ""), peak_at(wide, ", at which attention and the unembedding run"), chip.memory_bandwidth, {}};
  if (rates.model == TimeModel::calibrated) {
    const auto& kernels = kernels_of(scenario);
    const auto reached = [&](Precision at) { return kernels.matrix.at(at) * kernels.sustained; };
    rates.kernels = {rates.flops * reached(precision), rates.in_16_bits * reached(wide), rates.memory * kernels.memory, kernels};
  }
  return rates;
}

}  // namespace lockstep
