#include <array>

#include "sim/scenario/reading_private.hpp"

namespace lockstep {
namespace {

/// An optional choice of fp32 or bf16 as bytes of an element.
Bytes element(const YamlView& view, Bytes otherwise) {
  if (!view.exists()) return otherwise;
  return view.choice({"fp32", "bf16"}) == 0 ? Bytes(4) : Bytes(2);
}

void read_precision(const YamlView& view, KeyReader& keys, TrainingSpec& training, bool master_weights) {
  const auto precision = keys.optional(view, "precision");
  constexpr std::array precisions{Precision::bf16, Precision::fp16, Precision::fp8, Precision::int8};
  if (precision.exists()) training.precision = precisions[precision.choice({"bf16", "fp16", "fp8", "int8"})];
  // Small updates vanish in fp16's range, so the frameworks that train in it always keep the weights in fp32 too.
  if (training.precision == Precision::fp16 && !master_weights) {
    precision.problem("fp16 stands without fp32 master weights", "master_weights: true beside it, or bf16");
  }
  const auto gather = keys.optional(view, "low_precision_gather");
  if (!gather.exists()) return;
  training.low_precision_gather = gather.boolean();
  if (training.low_precision_gather && element_size(training.precision) != Bytes(1)) {
    gather.problem("weights in " + std::string(name(training.precision)) + " have no 8 bits to be gathered in", "precision: fp8 or int8 beside it");
  }
}

void read_optimizer(const YamlView& view, KeyReader& keys, OptimizerSpec& optimizer) {
  const auto kind = keys.optional(view, "optimizer");
  constexpr std::array kinds{OptimizerKind::adam, OptimizerKind::sgd, OptimizerKind::adafactor};
  if (kind.exists()) optimizer.kind = kinds[kind.choice({"adam", "sgd", "adafactor"})];
  const auto state = keys.optional(view, "optimizer_state");
  optimizer.moment = element(state, optimizer.moment);
  const auto momentum = keys.optional(view, "momentum");
  if (momentum.exists()) optimizer.momentum = momentum.boolean();
  if (optimizer.momentum && optimizer.kind != OptimizerKind::sgd) {
    momentum.problem(std::string(name(optimizer.kind)) + " has its own moments", "momentum only beside optimizer: sgd");
  }
  if (state.exists() && optimizer.kind == OptimizerKind::sgd && !optimizer.momentum) {
    state.problem("sgd without momentum keeps no state", "momentum: true beside it, or no optimizer_state");
  }
}

void read_gradients(const YamlView& view, KeyReader& keys, Scenario& scenario) {
  auto& step = scenario.step;
  step.gradient_element = element(keys.optional(view, "gradient_precision"), step.gradient_element);
  step.gradient_reduce_element = element(keys.optional(view, "gradient_reduce"), step.gradient_element);
  scenario.derive.gradient_element = step.gradient_reduce_element;
  keys.flag(view, "optimizer_barrier", step.optimizer_barrier);
  const auto clipping = keys.optional(view, "gradient_clipping");
  if (!clipping.exists()) return;
  step.gradient_clipping = clipping.boolean();
  if (step.gradient_clipping && !step.optimizer_barrier) {
    clipping.problem("a norm of all gradients is known only when all are reduced", "optimizer_barrier: true beside it");
  }
}

void read_offload(const YamlView& view, KeyReader& keys, Offload& offload) {
  if (!view.exists() || !view.expect_map("what moves to the host, such as {optimizer: true, activation_layers: 4}")) return;
  keys.flag(view, "optimizer", offload.optimizer);
  const auto layers = keys.optional(view, "activation_layers");
  if (layers.exists()) offload.activation_layers = static_cast<std::int32_t>(layers.integer(0, 1'000'000));
  const auto bandwidth = keys.optional(view, "host_memory_bandwidth");
  if (bandwidth.exists()) offload.host_memory = bandwidth.bytes_per_second();
  view.refuse_unknown_keys();
}

}  // namespace

void read_precision_and_update(const YamlView& view, KeyReader& keys, Scenario& scenario) {
  auto& step = scenario.step;
  keys.flag(view, "master_weights", step.optimizer.master_weights);
  read_precision(view, keys, scenario.training, step.optimizer.master_weights);
  read_optimizer(view, keys, step.optimizer);
  read_gradients(view, keys, scenario);
  const auto overhead = keys.optional(view, "memory_overhead");
  if (overhead.exists()) step.memory_overhead = overhead.bytes();
  const auto outside = keys.optional(view, "step_overhead");
  if (outside.exists()) step.step_overhead = outside.seconds(true);
  read_offload(keys.optional(view, "offload"), keys, step.offload);
}

}  // namespace lockstep
