// The plan of a scenario and the blocks derived under it, with the problem of each sharding at its place in the file.
#include <algorithm>
#include <set>

#include "sim/collectives/nccl_size.hpp"
#include "sim/preparation/preparing_private.hpp"
#include "sim/preparation/slices_private.hpp"
#include "workloads/sharded_layers/derived_weights.hpp"
#include "workloads/sharded_layers/low_precision.hpp"
#include "workloads/sharded_layers/matrix_owners.hpp"
#include "workloads/sharded_layers/optimizer.hpp"
#include "workloads/sharding/bounded_elements.hpp"
#include "workloads/step/delayed_weights.hpp"

namespace lockstep::preparation {
namespace {

/// Whether ranks along an axis are sites that train apart: no array is split over it.
bool is_of_sites(const scenario::Scenario& scenario, const std::string& axis) {
  const auto& updates = scenario.step.local_updates;
  return updates && updates->axis == axis;
}

workloads::Parallel sizes_in(const scenario::Scenario& scenario, const std::vector<topologies::AxisRequest>& requests) {
  auto parallel = scenario.parallel;
  for (const auto& request : requests) {
    if (is_of_sites(scenario, request.name)) continue;
    if (request.name == "data") parallel.data = request.size;
    if (request.name == "fsdp") parallel.fsdp = request.size;
    if (request.name == "tensor") parallel.tensor = request.size;
    if (request.name == "context") parallel.context = request.size;
    if (request.name == "expert") parallel.expert = request.size;
  }
  return parallel;
}

/// Puts the user's shardings over the plan; each problem stands at the tensor that has it. Only the whole plan tells
/// which heads have copies, so sizes are checked after all are in place.
void apply_overrides(const scenario::Scenario& scenario, const workloads::Parallel& parallel, workloads::Sizes& sizes,
                     workloads::Plan& plan) {
  Problems problems;
  std::set<std::string> refused;
  const auto each = [&](const auto& visit) {
    const auto all_of = [&](const std::string& list,
                            std::vector<workloads::ShardedTensor> workloads::PlanOverrides::*tensors) {
      for (const auto& tensor : scenario.plan.*tensors) {
        const auto key = "plan." + list + "." + tensor.name;
        try {
          if (!refused.contains(key)) visit(tensor, tensors);
        } catch (const workloads::ShardingError& error) {
          problems.add({scenario.where(key), key, error.what_is_wrong(), error.expected()});
          refused.insert(key);
        }
      }
    };
    all_of("activations", &workloads::PlanOverrides::activations);
    all_of("weights", &workloads::PlanOverrides::weights);
    all_of("gradients", &workloads::PlanOverrides::gradients);
    all_of("optimizer", &workloads::PlanOverrides::optimizer);
  };
  each([&](const workloads::ShardedTensor& tensor, auto tensors) {
    workloads::PlanOverrides one;
    (one.*tensors) = {split_by_tensor_axes(tensor, parallel)};
    apply(one, plan);
    (void)sizes.local_elements(tensor);  // its axes exist
  });
  copy_key_value_heads(plan, sizes);
  each([&](const workloads::ShardedTensor& tensor, auto tensors) {
    tensors == &workloads::PlanOverrides::activations ? sizes.check_divides(tensor)
                                                      : sizes.check_weight_divides(tensor);
  });
  problems.throw_if_any();
}

/// A layer that follows its like takes over what that one leaves.
void refuse_change_between_layers(const workloads::BlockSequence& blocks, const workloads::Plan& plan) {
  for (std::size_t i = 1; i < blocks.order.size(); ++i) {
    if (blocks.order[i] != blocks.order[i - 1]) continue;
    const auto& block = blocks.kinds[blocks.order[i]];
    auto left = plan.activations.at(block.output);
    left.name = block.input;
    const auto& taken = plan.activations.at(block.input);
    if (left.same_sharding(taken)) continue;
    throw workloads::ShardingError(
        "",
        "a layer leaves " + plan.activations.at(block.output).to_string() + " but the next takes " + taken.to_string(),
        block.input + " and " + block.output + " sharded alike");
  }
}

/// The sharding in which each kind of block first gets its input: as the block before it leaves it.
workloads::ShardedTensor arriving(const workloads::BlockSequence& blocks, const workloads::Plan& plan,
                                  workloads::KindId kind) {
  const auto first = std::find(blocks.order.begin(), blocks.order.end(), kind);
  const auto& block = blocks.kinds[kind];
  const auto& name = first == blocks.order.begin() ? block.input : blocks.kinds[*std::prev(first)].output;
  return name.empty() ? workloads::ShardedTensor{} : plan.activations.at(name);
}

/// Of one microbatch, all ranks of a site.
std::int64_t sequences_of_microbatch(const scenario::Scenario& scenario,
                                     const std::vector<topologies::AxisRequest>& requests) {
  const auto sequences = scenario.batch.sequences / scenario.batch.microbatches;
  for (const auto& request : requests) {
    if (!is_of_sites(scenario, request.name)) continue;
    if (request.size < 2)
      refuse(scenario, "training.local_updates", "no replicas lie along an axis " + request.name,
             "an axis of several ranks");
    if (sequences % request.size != 0)
      refuse(scenario, "batch.sequences",
             std::to_string(sequences) + " sequences of a microbatch do not divide over " +
                 std::to_string(request.size) + " sites along " + request.name,
             "a multiple of " + std::to_string(scenario.batch.microbatches * request.size));
    return sequences / request.size;
  }
  return sequences;
}

void check_parallel(const scenario::Scenario& scenario, const workloads::Parallel& parallel) {
  const auto& model = scenario.model;
  if (parallel.expert > 1 && !model.experts) {
    refuse(scenario, "parallel.expert", "the model has no experts", "1, or a mixture of experts such as mixtral-8x7b");
  }
  if (parallel.expert_tensor > 0 && !model.experts) {
    refuse(scenario, "parallel.expert_tensor", "the model has no experts",
           "no expert_tensor, or a mixture of experts such as mixtral-8x7b");
  }
  if (parallel.tensor % parallel.ranks_of_an_expert() != 0) {
    const auto ranks = std::to_string(parallel.tensor);
    refuse(scenario, "parallel.expert_tensor",
           std::to_string(parallel.expert_tensor) + " ranks to split an expert do not divide the " + ranks +
               " of the tensor axis",
           "a size that divides " + ranks);
  }
  if (parallel.context > 1 && !model.attention) {
    refuse(scenario, "parallel.context", "the model has no sequence", "1, or a model with attention");
  }
  if (parallel.context > 1 && (model.indexer || model.compressed) &&
      scenario.derive.context_attention != workloads::ContextAttention::all_gather) {
    refuse(scenario, "parallel.context_attention",
           model.compressed ? "compressed entries of all tokens before are seen on every rank"
                            : "tokens that an indexer chooses may lie on any rank",
           "all_gather, which brings all " + std::string(model.compressed ? "entries" : "latents") + " to every rank");
  }
  const bool pieces = scenario.derive.causal && scenario.derive.balanced_context &&
                      scenario.derive.context_attention != workloads::ContextAttention::all_to_all;
  if (parallel.context > 1 && pieces && scenario.batch.sequence_length % (2 * parallel.context) != 0) {
    refuse(scenario, "parallel.context",
           "balanced causal attention needs 2 x " + std::to_string(parallel.context) + " equal pieces of " +
               std::to_string(scenario.batch.sequence_length) + " tokens",
           "a size of which twice divides the sequence length, or context_order: contiguous");
  }
}

/// Each result that is to be kept is one of a layer's operations.
void check_kept_operations(const scenario::Scenario& scenario, const workloads::BlockSequence& blocks) {
  std::set<std::string> known;
  for (const auto& block : blocks.kinds) {
    if (!block.is_layer) continue;
    for (const auto& op : block.ops) known.insert(op.name);
  }
  for (const auto& name : scenario.derive.recompute.kept) {
    if (known.contains(name)) continue;
    std::string all;
    for (const auto& each : known) all += (all.empty() ? "" : ", ") + each;
    refuse(scenario, "training.recompute.kept", "no layer of the model has an operation '" + name + "'",
           "some of " + all);
  }
}

/// Each fragment of local updates has a block.
void check_fragments(const scenario::Scenario& scenario, const workloads::BlockSequence& blocks) {
  const auto& updates = scenario.step.local_updates;
  if (!updates) return;
  const auto count = std::count_if(blocks.order.begin(), blocks.order.end(),
                                   [&](workloads::KindId kind) { return !blocks.kinds[kind].weights.empty(); });
  if (updates->fragments > count)
    refuse(scenario, "training.local_updates.fragments",
           std::to_string(updates->fragments) + " fragments share out " + std::to_string(count) +
               " blocks with weights of the model",
           "at most " + std::to_string(count));
}

/// Makes the operands of a layer's products narrow. A kernel reads 2 bytes of each value and writes it as it is and
/// transposed; a norm does that itself. In 4 bits it does not, and the largest value of an array is found first, by the
/// norm that makes it or by one more pass over it. With the Hadamard transform the transposed array is another one,
/// made by a kernel of its own, and both largest values are found by a pass that transforms too (TransformerEngine
/// v2.8, pytorch/csrc/quantizer.cpp, NVFP4Quantizer::quantize_impl, and extensions/normalization.cpp).
void make_operands_narrow(const scenario::TrainingSpec& training, workloads::ShardedLayer& layer,
                          const workloads::Block& block) {
  const double written = 2 * operand_bytes(training.precision);
  if (training.precision != topologies::Precision::nvfp4) return cast_operands(layer, block, 2 + written);
  if (training.hadamard_transform) return cast_operands(layer, block, 3 * 2 + written, 3 * 2 + written);
  cast_operands(layer, block, 2 * 2 + written, 2 + written);
}

/// The size of the axis along which a collective of measured layers runs, which has to be there.
int size_of_axis(const scenario::Scenario& scenario, const std::vector<topologies::AxisRequest>& requests,
                 const std::string& what, const std::string& name) {
  const auto axis = std::find_if(requests.begin(), requests.end(),
                                 [&](const topologies::AxisRequest& request) { return request.name == name; });
  if (axis == requests.end() || axis->size == 0)
    refuse(scenario, "model.replay", "'" + what + "' runs along '" + name + "', which is no axis",
           "an axis with a size in parallel");
  return axis->size;
}

/// Collectives of measured layers that are simulated: their arrays are those of all members.
void size_collectives(const scenario::Scenario& scenario, const std::vector<topologies::AxisRequest>& requests,
                      workloads::BlockSteps& steps) {
  for (auto& step : steps) {
    if (step.kind != workloads::BlockStep::Kind::collective || step.given_time) continue;
    const int size = size_of_axis(scenario, requests, step.name, step.axes.front());
    if (step.full_size > collectives::most_full_size / size)
      refuse(scenario, "model.replay", "'" + step.name + "' has too many bytes", "at most 1e18 over all ranks");
    step.full_size = collectives::full_size_of(step.collective, step.full_size, size);
  }
}

/// Gradients of measured layers along an axis of one rank need no collective.
void settle_gradients(const scenario::Scenario& scenario, const std::vector<topologies::AxisRequest>& requests,
                      std::vector<workloads::WeightUpdate>& weights) {
  for (auto& update : weights) {
    const auto& reduce = update.last_microbatch.front();
    const int size = size_of_axis(scenario, requests, "gradients", reduce.axes.front());
    if (reduce.kind == workloads::CollectiveKind::reduce_scatter) {
      update.optimizer_elements = (update.optimizer_elements + size - 1) / size;
      update.split_over = reduce.axes;
    }
    if (size > 1) continue;
    update.last_microbatch.clear();
    update.publish.clear();
  }
}

enum class Derived { layers, weights };

ShardedModel derive(const scenario::Scenario& scenario, const std::vector<topologies::AxisRequest>& requests,
                    Derived what) {
  ShardedModel model;
  if (scenario.replay) {
    if (scenario.pipeline.slices > 1)
      refuse(scenario, "pipeline.slices", "measured operations cannot be cut into slices", "whole microbatches");
    model.layers = scenario.replay->kinds;
    model.order = scenario.replay->order;
    for (auto& block : model.layers) {
      size_collectives(scenario, requests, block.forward);
      size_collectives(scenario, requests, block.backward);
      settle_gradients(scenario, requests, block.weights);
    }
    return model;
  }
  if (const auto why = why_not_expanded(scenario.model); !why.what.empty())
    refuse(scenario, "model", why.what, why.expected);
  const auto parallel = sizes_in(scenario, requests);
  const auto sequences = sequences_of_microbatch(scenario, requests);
  check_parallel(scenario, parallel);
  const auto blocks = blocks_of(scenario.model, scenario.blocks);
  auto sizes = sizes_of(scenario.model, sequences, scenario.batch.sequence_length,
                        scenario.routing.capacity_factor.value_or(1.0));
  for (const auto& request : requests) {
    if (request.name != "pipeline" && !is_of_sites(scenario, request.name)) sizes.axes[request.name] = request.size;
  }
  if (scenario.training.flat_zero_shards) sizes.flat_axes = {"data", "fsdp", "context", "expert"};
  model.expert_ranks = parallel.ranks_of_experts();
  model.parallel = parallel;
  check_kept_operations(scenario, blocks);
  check_slices(scenario, parallel, blocks);
  try {
    model.plan = plan_for(blocks, parallel);
    apply_overrides(scenario, parallel, sizes, model.plan);
    model.order = blocks.order;
    check_fragments(scenario, blocks);
    model.layers.clear();
    refuse_change_between_layers(blocks, model.plan);
    const auto derive_kinds = [&](workloads::DerivePolicy policy) {
      policy.accumulates = scenario.batch.microbatches * scenario.pipeline.slices > 1;
      if (const auto& experts = scenario.model.experts) {
        auto& copies = policy.token_copies;  // the dispatcher is there
        copies.each = experts->per_token;
        copies.groups = experts->groups;
        copies.groups_per_token = experts->groups_per_token;
      }
      for (const workloads::KindId kind : blocks.kinds.ids()) {
        const auto& block = blocks.kinds[kind];
        auto derived = what == Derived::weights
                           ? derive_weights(block, model.plan, sizes, policy)
                           : derive_layer(block, model.plan, sizes, arriving(blocks, model.plan, kind), policy);
        complete_updates(derived, block, model.plan, sizes);
        if (const auto& optimizer = scenario.step.optimizer; optimizer.kind == workloads::OptimizerKind::muon) {
          const auto problem = share_matrices(derived, optimizer.muon);
          if (!problem.what.empty()) refuse(scenario, "training.muon.sharing", problem.what, problem.expected);
        }
        keep_unembedding_in_16_bits(derived, block);
        const auto precision = scenario.training.precision;
        const bool low = is_narrow(precision);
        if (low) make_operands_narrow(scenario.training, derived, block);
        if (precision == topologies::Precision::nvfp4 && policy.operand_element == Bytes(1) && block.is_layer)
          narrow_activation_gathers(derived, operand_bytes(precision), policy.kept.has_value());
        if (scenario.training.matrix_owners) give_matrices_to_owners(derived);
        const double stored = low ? operand_bytes(precision) : 0;
        if (scenario.training.low_precision_gather)
          gather_quantised_weights(derived, block, stored, precision != topologies::Precision::mxfp8);
        keep_quantised_weights(derived, block, scenario.training.low_precision_copies, stored);
        if (scenario.step.delay_weight_gradients) delay_weight_gradients(derived);
        model.layers.push_back(std::move(derived));
      }
    };
    if (scenario.training.recompute_layers) {
      auto kept = scenario.derive;
      kept.recompute = {};
      derive_kinds(kept);
    }
    if (scenario.pipeline.slices == 1) {
      derive_kinds(scenario.derive);
    } else {
      auto policy = scenario.derive;
      const auto is_pipeline = [](const auto& request) { return request.name == "pipeline" && request.size > 1; };
      if (std::none_of(requests.begin(), requests.end(), is_pipeline)) policy.sharing_slices = 0;
      for (const auto length : lengths_of_slices(scenario, parallel.tensor)) {
        sizes.dims = sizes_of(scenario.model, sequences, length, scenario.routing.capacity_factor.value_or(1.0)).dims;
        derive_kinds(policy);
        policy.earlier_tokens += length;
      }
    }
  } catch (const workloads::ArrayTooLarge& error) {
    refuse(scenario, "batch", error.what_is_wrong(), error.expected());
  } catch (const workloads::TooManyTiles& error) {
    refuse(scenario, "training.cross_entropy.tiles", error.what_is_wrong(), error.expected());
  } catch (const workloads::ShardingError& error) {
    const bool user_plan = scenario.places.contains("plan");
    const std::string key =
        user_plan ? "plan" : "parallel" + (error.axis().empty() ? std::string() : "." + error.axis());
    refuse(scenario, key, error.what_is_wrong(), error.expected());
  }
  return model;
}

}  // namespace

ShardedModel sharded_model(const scenario::Scenario& scenario, const std::vector<topologies::AxisRequest>& axes) {
  return derive(scenario, axes, Derived::layers);
}
ShardedModel sharded_model(const scenario::Scenario& scenario) {
  return derive(scenario, scenario.mesh, Derived::layers);
}
ShardedModel sharded_weights(const scenario::Scenario& scenario) {
  return derive(scenario, scenario.mesh, Derived::weights);
}

}  // namespace lockstep::preparation
