#pragma once
/// All that sharded_model reads of a scenario: where these are equal, so is the sharded model.
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::preparation {

// The fields of a value, all of them: with one more, the bindings do not compile.

inline auto fields(const workloads::BlockOptions& of) {
  const auto& [dropout, fused_attention, activation_bytes] = of;
  return std::tie(dropout, fused_attention, activation_bytes);
}
inline auto fields(const workloads::Parallel& of) {
  const auto& [data, fsdp, tensor, context, expert, zero, zero_of, sequence_parallel, experts_over, expert_tensor] = of;
  return std::tie(data, fsdp, tensor, context, expert, zero, zero_of, sequence_parallel, experts_over, expert_tensor);
}
inline auto fields(const workloads::PlanOverrides& of) {
  const auto& [activations, weights, gradients, optimizer] = of;
  return std::tie(activations, weights, gradients, optimizer);
}
inline auto fields(const scenario::BatchSpec& of) {
  const auto& [sequences, sequence_length, microbatches] = of;
  return std::tie(sequences, sequence_length, microbatches);
}
inline auto fields(const scenario::TrainingSpec& of) {
  const auto& [precision, hadamard, gather, copies, causal, kernel, recompute_layers, flat_zero_shards, matrix_owners] =
      of;
  return std::tie(precision, hadamard, gather, copies, causal, kernel, recompute_layers, flat_zero_shards,
                  matrix_owners);
}
inline auto fields(const scenario::RoutingSpec& of) {
  const auto& [capacity_factor, variation, loads, seed] = of;
  return std::tie(capacity_factor, variation, loads, seed);
}
inline auto fields(const workloads::DerivePolicy& of) {
  const auto& [activation_element, weight_element, stored_element, gradient_element, causal, earlier_tokens,
               sharing_slices, regather_weights, share_activation_gathers, collective_matmul, context_attention,
               balanced_context, recompute, token_copies, counted_slots, one_hot_slots, rows_multiple, filled_by_copies,
               grouped_products, counts_wait, kept, kept_for_functions, kept_attention, loss_element, loss_tiles,
               loss_again, dispatch_element, operand_element, accumulates, elementwise_traffic] = of;
  return std::tie(activation_element, weight_element, stored_element, gradient_element, causal, earlier_tokens,
                  sharing_slices, regather_weights, share_activation_gathers, collective_matmul, context_attention,
                  balanced_context, recompute, token_copies, counted_slots, one_hot_slots, rows_multiple,
                  filled_by_copies, grouped_products, counts_wait, kept, kept_for_functions, kept_attention,
                  loss_element, loss_tiles, loss_again, dispatch_element, operand_element, accumulates,
                  elementwise_traffic);
}

inline auto fields(const workloads::MuonSpec& of) {
  const auto& [sharing, tensor, steps] = of;
  return std::tie(sharing, tensor, steps);
}
inline auto fields(const workloads::OptimizerSpec& of) {
  const auto& [kind, moment, momentum, master_weights, muon] = of;
  return std::tuple_cat(std::tie(kind, moment, momentum, master_weights), fields(muon));
}

struct ModelInputs {
  using Axis = std::pair<std::string, int>;  ///< name and size

  ModelInputs(const scenario::Scenario& scenario, const std::vector<topologies::AxisRequest>& requests)
      : model(scenario.model),
        blocks(scenario.blocks),
        parallel(scenario.parallel),
        plan(scenario.plan),
        batch(scenario.batch),
        slices(scenario.pipeline.slices),
        equal_work(scenario.pipeline.equal_work),
        delay_weight_gradients(scenario.step.delay_weight_gradients),
        training(scenario.training),
        routing(scenario.routing),
        derive(scenario.derive),
        optimizer(scenario.step.optimizer),
        axis_of_sites(scenario.step.local_updates ? scenario.step.local_updates->axis : "") {
    for (const auto& request : requests) axes.emplace_back(request.name, request.size);
  }

  workloads::Model model;
  workloads::BlockOptions blocks;
  workloads::Parallel parallel;
  workloads::PlanOverrides plan;
  scenario::BatchSpec batch;
  std::int32_t slices;
  bool equal_work;
  bool delay_weight_gradients;
  scenario::TrainingSpec training;
  scenario::RoutingSpec routing;
  workloads::DerivePolicy derive;
  workloads::OptimizerSpec optimizer;
  std::string axis_of_sites;
  std::vector<Axis> axes;

  friend bool operator==(const ModelInputs& a, const ModelInputs& b) {
    const auto equal = [](const auto& one, const auto& other) { return fields(one) == fields(other); };
    return a.model == b.model && equal(a.blocks, b.blocks) && equal(a.parallel, b.parallel) && equal(a.plan, b.plan) &&
           equal(a.batch, b.batch) && a.slices == b.slices && a.equal_work == b.equal_work &&
           a.delay_weight_gradients == b.delay_weight_gradients && equal(a.training, b.training) &&
           equal(a.routing, b.routing) && equal(a.derive, b.derive) && equal(a.optimizer, b.optimizer) &&
           a.axis_of_sites == b.axis_of_sites && a.axes == b.axes;
  }
};

}  // namespace lockstep::preparation
