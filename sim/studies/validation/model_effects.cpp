// The effects that `lockstep validate --ablation` takes away one by one.
#include <utility>

#include "sim/cost/layer_time.hpp"
#include "sim/studies/validation/ablation.hpp"
#include "workloads/sharded_layers/loss_elements.hpp"

namespace lockstep::validation {
namespace {

using scenario::Scenario;

/// Sets a value; whether it was another.
template <class Value>
bool set(Value& place, Value value) {
  if (place == value) return false;
  place = std::move(value);
  return true;
}

topologies::ChipKernels* kernels_of(Scenario& scenario) {
  auto& kernels = scenario.cluster.chip().kernels;
  return kernels ? &*kernels : nullptr;
}

bool benchmark_clock(Scenario& scenario) {
  auto* kernels = kernels_of(scenario);
  return kernels != nullptr && set(kernels->sustained, 1.0);
}

bool no_waves(Scenario& scenario) {
  auto* kernels = kernels_of(scenario);
  if (kernels == nullptr) return false;
  const bool waves = kernels->units > 1;
  if (waves) {  // one unit's tiles make waves of one; collectives slow kernels down as before
    const double slowed = cost::overlap_slowdown(*kernels);
    kernels->units = 1;
    kernels->communication_units = 0;
    kernels->communication_memory = 1 - 1 / slowed;
  }
  const bool padded = kernels->systolic > 0 && set(kernels->systolic, 1);
  const bool edges = set(kernels->tile_edge, 0.0);
  return set(kernels->depth, 0.0) || edges || padded || waves;
}

bool no_softmax(Scenario& scenario) {
  auto* kernels = kernels_of(scenario);
  if (kernels == nullptr) return false;
  bool had = set(kernels->attention.softmax, 0.0);
  had = set(kernels->attention.block, 0.0) || had;
  for (auto& other : kernels->other_attention) other.softmax = other.block = 0;
  return had;
}

bool usual_attention(Scenario& scenario) { return set(scenario.training.attention_kernel, std::string()); }

bool clock_of_products(Scenario& scenario) {
  auto* kernels = kernels_of(scenario);
  if (kernels == nullptr) return false;
  bool had = set(kernels->attention.power, 1.0);
  for (auto& other : kernels->other_attention) had = set(other.power, 1.0) || had;
  return had;
}

bool no_dropout(Scenario& scenario) { return set(scenario.blocks.dropout, false); }

bool nothing_rotated(Scenario& scenario) {
  return scenario.training.precision == topologies::Precision::nvfp4 &&
         set(scenario.training.hadamard_transform, false);
}
bool gathered_in_16_bits(Scenario& scenario) { return set(scenario.derive.operand_element, Bytes(2)); }

bool full_memory(Scenario& scenario) {
  auto* kernels = kernels_of(scenario);
  return kernels != nullptr && set(kernels->memory, 1.0);
}

bool sums_beside_products(Scenario& scenario) {
  auto* kernels = kernels_of(scenario);
  return kernels != nullptr && set(kernels->accumulation, 0.0);
}

bool no_gaps(Scenario& scenario) {
  auto* kernels = kernels_of(scenario);
  if (kernels == nullptr) return false;
  const bool gap = set(kernels->gap, Seconds(0));
  return set(kernels->staging, Bytes(0)) || gap;
}

bool no_launches(Scenario& scenario) {
  auto* kernels = kernels_of(scenario);
  return kernels != nullptr && set(kernels->host, Seconds(0));
}

bool hosts_run_ahead(Scenario& scenario) { return set(scenario.step.host_waits_for_transfers, false); }

bool no_slowdown(Scenario& scenario) {
  auto* kernels = kernels_of(scenario);
  if (kernels == nullptr) return false;
  const bool units = set(kernels->communication_units, 0);
  return set(kernels->communication_memory, 0.0) || units;
}

bool rows_in_order(Scenario& scenario) {
  auto* kernels = kernels_of(scenario);
  if (kernels == nullptr || !scenario.model.experts) return false;
  const bool tiles = set(kernels->grouped_tile, 0);
  return set(kernels->indexed, 1.0) || tiles;
}

bool fused_elementwise(Scenario& scenario) { return set(scenario.derive.elementwise_traffic, 1.0); }

bool fused_loss(Scenario& scenario) {
  return scenario.derive.loss_element == workloads::unfused_loss &&
         set(scenario.derive.loss_element, workloads::fused_loss);
}
bool no_metrics(Scenario& scenario) {
  return scenario.derive.loss_element == workloads::loss_with_metrics &&
         set(scenario.derive.loss_element, workloads::loss_in_place);
}

bool full_links(Scenario& scenario) {
  auto* node = std::get_if<topologies::NodeSpec>(&scenario.cluster.unit);
  bool had = false;
  if (node != nullptr) {
    had = set(node->scale_up_efficiency, 1.0);
    for (auto& protocol : node->protocols) {
      had = set(protocol.launch, Seconds(0)) || had;
      had = set(protocol.remote_launch, Seconds(0)) || had;
    }
  }
  return set(scenario.cluster.fabric.efficiency, 1.0) || had;
}

bool no_incast(Scenario& scenario) { return set(scenario.cluster.fabric.incast, 0.0); }
bool no_barrier(Scenario& scenario) {
  return scenario.cluster.units > 1 && scenario.cluster.torus() != nullptr &&
         set(scenario.cluster.fabric.barrier, Seconds(0));
}

bool collectives_hidden(Scenario& scenario) {
  auto& step = scenario.step;
  const bool gathers = step.prefetch < 1 && set(step.prefetch, 1);
  const bool reductions = step.reductions_in_flight < 1 && set(step.reductions_in_flight, 1);
  constexpr Bytes all_gradients{1'000'000'000'000};  // more than any step has: reduced after the last backward
  const bool at_the_end = step.gradient_buckets.reaches_over_layers() && step.gradient_buckets.size >= all_gradients;
  if (at_the_end) step.gradient_buckets = {};
  return gathers || reductions || at_the_end;
}

bool early_updates(Scenario& scenario) { return set(scenario.step.publish_ahead, false); }
bool gathers_kept(Scenario& scenario) {
  return scenario.derive.collective_matmul && set(scenario.derive.share_activation_gathers, true);
}
bool nothing_beside_products(Scenario& scenario) { return set(scenario.derive.collective_matmul, false); }
bool weights_in_16_bits(Scenario& scenario) { return set(scenario.training.low_precision_gather, false); }
bool whole_sequences(Scenario& scenario) {
  const bool had = !scenario.lengths.documents.empty();
  scenario.lengths.documents.clear();
  return had;
}
bool nothing_computed_again(Scenario& scenario) { return set(scenario.derive.recompute, workloads::Recompute{}); }

}  // namespace

const std::vector<Effect>& model_effects() {
  static const std::vector<Effect> effects{
      {"the clock of whole steps", "kernels.sustained", benchmark_clock},
      {"tiles, waves and depth of products", "kernels.waves, systolic, depth", no_waves},
      {"softmax and diagonal of attention", "kernels.attention.softmax, block", no_softmax},
      {"the library of attention of its time", "kernels.other_attention", usual_attention},
      {"attention's power below that of products", "kernels.attention.power", clock_of_products},
      {"dropout", "none", no_dropout},
      {"the Hadamard transform of operands in 4 bits", "none", nothing_rotated},
      {"activations gathered in 8 and 4 bits", "none", gathered_in_16_bits},
      {"memory below its data sheet", "kernels.memory", full_memory},
      {"gradients added after their products", "kernels.accumulation", sums_beside_products},
      {"gaps and staging of kernels", "kernels.gap, staging", no_gaps},
      {"launches by the host", "kernels.host", no_launches},
      {"hosts that wait for transfers between stages", "none", hosts_run_ahead},
      {"kernels slowed by collectives beside them", "kernels.communication", no_slowdown},
      {"rows by index, tiles that experts share", "kernels.indexed, grouped_tile", rows_in_order},
      {"elementwise steps that are not fused", "training.elementwise_traffic", fused_elementwise},
      {"losses that are not fused", "none", fused_loss},
      {"metrics that compute the loss again", "none", no_metrics},
      {"links below their rate, launches of collectives", "efficiency, launch", full_links},
      {"incast", "fabric.incast", no_incast},
      {"hosts between pods", "fabric.barrier", no_barrier},
      {"tensor collectives beside products", "none", nothing_beside_products},
      {"gathered activations gathered again", "none", gathers_kept},
      {"gathers and reductions that nothing hides", "none", collectives_hidden},
      {"updated weights gathered beside the next forward", "none", early_updates},
      {"weights gathered in 8 bits", "none", weights_in_16_bits},
      {"documents that share a sequence", "none", whole_sequences},
      {"what is computed again", "none", nothing_computed_again},
  };
  return effects;
}

}  // namespace lockstep::validation
