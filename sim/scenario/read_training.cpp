#include <string>
#include <vector>

#include "sim/scenario/reading_private.hpp"
#include "workloads/sharded_layers/loss_elements.hpp"

namespace lockstep::scenario {
namespace {

/// An optional choice of fp32 or bf16 as bytes of an element.
Bytes element(const YamlView& view, Bytes otherwise) {
  if (!view.exists()) return otherwise;
  return view.choice({"fp32", "bf16"}) == 0 ? Bytes(4) : Bytes(2);
}

void read_precision(const YamlView& view, KeyReader& keys, TrainingSpec& training, bool master_weights) {
  const auto precision = keys.optional(view, "precision");
  constexpr std::array precisions{topologies::Precision::bf16, topologies::Precision::fp16,
                                  topologies::Precision::fp8,  topologies::Precision::int8,
                                  topologies::Precision::fp4,  topologies::Precision::mxfp8,
                                  topologies::Precision::nvfp4};
  if (precision.exists())
    training.precision = precisions[precision.choice({"bf16", "fp16", "fp8", "int8", "fp4", "mxfp8", "nvfp4"})];
  // Small updates vanish in fp16's range, so the frameworks that train in it always keep the weights in fp32 too.
  if (training.precision == topologies::Precision::fp16 && !master_weights) {
    precision.problem("fp16 needs fp32 master weights", "master_weights: true, or bf16");
  }
  if (const auto hadamard = keys.optional(view, "hadamard_transform"); hadamard.exists()) {
    training.hadamard_transform = hadamard.boolean();
    if (training.hadamard_transform && training.precision != topologies::Precision::nvfp4)
      hadamard.problem("products in " + std::string(name(training.precision)) + " rotate no operands",
                       "precision: nvfp4");
  }
  const auto need_8_bits = [&](const YamlView& of, const std::string& for_what) {
    if (is_narrow(training.precision) && training.precision != topologies::Precision::fp4) return;
    of.problem("weights in " + std::string(name(training.precision)) + " have no 8 bits to be " + for_what + " in",
               "precision: fp8, int8, mxfp8 or nvfp4");
  };
  if (const auto gather = keys.optional(view, "low_precision_gather"); gather.exists()) {
    training.low_precision_gather = gather.boolean();
    if (training.low_precision_gather) need_8_bits(gather, "gathered");
  }
  if (const auto copies = keys.optional(view, "low_precision_weights"); copies.exists()) {
    training.low_precision_copies = static_cast<int>(copies.choice({"per use", "kept", "kept twice"}));
    if (training.low_precision_copies > 0) need_8_bits(copies, "kept");
  }
}

void read_optimizer(const YamlView& view, KeyReader& keys, workloads::OptimizerSpec& optimizer) {
  const auto kind = keys.optional(view, "optimizer");
  constexpr std::array kinds{workloads::OptimizerKind::adam, workloads::OptimizerKind::sgd,
                             workloads::OptimizerKind::adafactor, workloads::OptimizerKind::muon};
  if (kind.exists()) optimizer.kind = kinds[kind.choice({"adam", "sgd", "adafactor", "muon"})];
  const auto state = keys.optional(view, "optimizer_state");
  optimizer.moment = element(state, optimizer.moment);
  const auto momentum = keys.optional(view, "momentum");
  if (momentum.exists()) optimizer.momentum = momentum.boolean();
  if (optimizer.momentum && optimizer.kind != workloads::OptimizerKind::sgd) {
    momentum.problem(std::string(name(optimizer.kind)) + " has its own moments", "momentum only with optimizer: sgd");
  }
  if (state.exists() && optimizer.kind == workloads::OptimizerKind::sgd && !optimizer.momentum) {
    state.problem("sgd without momentum keeps no state", "momentum: true, or no optimizer_state");
  }
}

/// How ranks share out the matrices: {sharing: ..., tensor: ..., steps: n}.
void read_muon(const YamlView& view, KeyReader& keys, workloads::OptimizerSpec& optimizer) {
  if (!view.exists() || !view.expect_map("how matrices are shared out, such as {sharing: layer_wise}")) return;
  if (optimizer.kind != workloads::OptimizerKind::muon) view.problem("the optimizer is another", "optimizer: muon");
  using workloads::MuonSharing;
  constexpr std::array sharings{MuonSharing::blockwise, MuonSharing::duplicated, MuonSharing::distributed,
                                MuonSharing::layer_sharded, MuonSharing::layer_wise};
  auto& muon = optimizer.muon;
  const auto sharing = keys.optional(view, "sharing");
  if (sharing.exists())
    muon.sharing = sharings[sharing.choice({"blockwise", "duplicated", "distributed", "layer_sharded", "layer_wise"})];
  const auto tensor = keys.optional(view, "tensor");
  if (tensor.exists()) {
    muon.tensor = sharings[tensor.choice({"blockwise", "duplicated", "distributed"})];
    if (muon.sharing && muon.sharing != MuonSharing::layer_wise)
      tensor.problem("this sharing is that of the tensor-parallel parts too", "sharing: layer_wise");
  }
  const auto steps = keys.optional(view, "steps");
  if (steps.exists()) muon.steps = static_cast<int>(steps.integer(1, 100));
  view.refuse_unknown_keys();
}

void read_gradients(const YamlView& view, KeyReader& keys, Scenario& scenario) {
  auto& step = scenario.step;
  const auto accumulated = keys.optional(view, "gradient_precision");
  step.gradient_element = element(accumulated, step.gradient_element);
  step.gradient_reduce_element =
      element(keys.optional(view, "gradient_reduce"), accumulated.exists() ? step.gradient_element : Bytes(2));
  scenario.derive.gradient_element = step.gradient_reduce_element;
  keys.flag(view, "optimizer_barrier", step.optimizer_barrier);
  const auto clipping = keys.optional(view, "gradient_clipping");
  if (!clipping.exists()) return;
  step.gradient_clipping = clipping.boolean();
  if (step.gradient_clipping && !step.optimizer_barrier) {
    clipping.problem("a norm of all gradients is known only when all are reduced", "optimizer_barrier: true");
  }
}

void read_offload(const YamlView& view, KeyReader& keys, workloads::Offload& offload) {
  if (!view.exists() || !view.expect_map("what moves to the host, such as {optimizer: true, activation_layers: 4}"))
    return;
  keys.flag(view, "optimizer", offload.optimizer);
  const auto layers = keys.optional(view, "activation_layers");
  if (layers.exists()) offload.activation_layers = static_cast<std::int32_t>(layers.integer(0, 1'000'000));
  const auto bandwidth = keys.optional(view, "host_memory_bandwidth");
  if (bandwidth.exists()) offload.host_memory = bandwidth.bytes_per_second();
  view.refuse_unknown_keys();
}

/// none, full, selective or {mode: ..., parts: [...], layers: n}.
void read_recompute(const YamlView& view, KeyReader& keys, Scenario& scenario) {
  if (!view.exists()) return;
  auto& recompute = scenario.derive.recompute;
  const auto mode_of = [&](const YamlView& mode) {
    switch (mode.choice({"none", "selective", "full"})) {
      case 1: recompute.parts = {workloads::OpPart::core_attention}; break;
      case 2: recompute.all = true; break;
      default: break;
    }
  };
  if (!view.is_map()) return mode_of(view);
  const auto mode = keys.require(view, "mode", "none, selective or full");
  if (mode.exists()) mode_of(mode);
  const auto parts = keys.optional(view, "parts");
  if (parts.exists()) {
    if (recompute.parts.empty()) parts.problem("cannot be given with a mode that has no parts", "mode: selective");
    recompute.parts.clear();
    for (const auto& part : parts.items()) {
      switch (
          part.choice({"core_attention", "norms", "latent_projections", "activations", "mlp", "experts", "streams"})) {
        case 0: recompute.parts.insert(workloads::OpPart::core_attention); break;
        case 1: recompute.parts.insert(workloads::OpPart::norm); break;
        case 2: recompute.parts.insert(workloads::OpPart::latent_projection); break;
        case 3:
          recompute.parts.insert({workloads::OpPart::mlp_activation, workloads::OpPart::expert_activation});
          break;
        case 4: recompute.parts.insert({workloads::OpPart::mlp, workloads::OpPart::mlp_activation}); break;
        case 5: recompute.parts.insert({workloads::OpPart::experts, workloads::OpPart::expert_activation}); break;
        default: recompute.parts.insert(workloads::OpPart::streams); break;
      }
    }
  }
  const auto kept = keys.optional(view, "kept");
  if (kept.exists()) {
    if (recompute.parts.empty() || parts.exists())
      kept.problem(
          "cannot be given with " + std::string(parts.exists() ? "parts" : "a mode that keeps nothing or everything"),
          "mode: selective and no parts");
    recompute.parts.clear();
    for (const auto& operation : kept.items()) recompute.kept.insert(operation.text());
    if (kept.is_list() && recompute.kept.empty())
      kept.problem("is empty", "mode: full to keep nothing, or operations such as [query projection, attention]");
  }
  const auto layers = keys.optional(view, "layers");
  if (layers.exists()) {
    auto& of_stages = scenario.training.recompute_layers.emplace();
    for (const auto& item : layers.is_list() ? layers.items() : std::vector{layers})
      of_stages.push_back(item.integer(0, 1'000'000));
    if (of_stages.empty()) layers.problem("is empty", "a number of layers, or one for each stage such as [4, 3, 3, 2]");
    if (mode.exists() && !recompute.any())
      layers.problem("cannot be given with recompute none", "mode: selective or full");
  }
  view.refuse_unknown_keys();
}

/// 8-bit, 16-bit or {format: ..., functions: ..., attention: ..., scaled_together: n}.
void read_kept_activations(const YamlView& view, KeyReader& keys, workloads::DerivePolicy& derive) {
  if (!view.exists()) return;
  workloads::KeptFormat kept{8, 0};
  if (!view.is_map()) {
    if (view.choice({"16-bit", "8-bit"}) == 1) derive.kept = kept;
    return;
  }
  const auto format = keys.require(view, "format", "16-bit or 8-bit");
  const auto scaled = keys.optional(view, "scaled_together");
  if (scaled.exists()) kept.scaled_together = scaled.integer(1, 1'000'000);
  if (format.exists() && format.choice({"16-bit", "8-bit"}) == 1) derive.kept = kept;
  const auto functions = keys.optional(view, "functions");
  if (functions.exists()) derive.kept_for_functions = functions.choice({"16-bit", "8-bit"}) == 1;
  if (functions.exists() && derive.kept_for_functions && !derive.kept)
    functions.problem("what products read is kept in 16 bits", "format: 8-bit, or functions: 16-bit");
  const auto attention = keys.optional(view, "attention");
  if (attention.exists()) {
    constexpr std::array<std::int64_t, 3> bits{16, 12, 8};
    const auto chosen = bits[attention.choice({"16-bit", "12-bit", "8-bit"})];
    if (chosen < 16) derive.kept_attention = workloads::KeptFormat{chosen, kept.scaled_together};
  }
  if (scaled.exists() && !derive.kept && !derive.kept_attention)
    scaled.problem("nothing is kept in fewer than 16 bits", "format: 8-bit or attention: 12-bit");
  view.refuse_unknown_keys();
}

/// fused, unfused, in place, with metrics or {mode: ..., tiles: n, logits: ...}.
void read_cross_entropy(const YamlView& view, KeyReader& keys, workloads::DerivePolicy& derive) {
  if (!view.exists()) return;
  const auto mode = view.is_map() ? keys.optional(view, "mode") : view;
  if (mode.exists()) {
    std::vector<std::string> words;
    for (const auto& [word, held] : workloads::losses) words.emplace_back(word);
    derive.loss_element = workloads::losses[mode.choice(words)].second;
  }
  if (!view.is_map()) return;
  const auto tiles = keys.optional(view, "tiles");
  if (tiles.exists()) derive.loss_tiles = tiles.integer(1, 1'000'000);
  const auto logits = keys.optional(view, "logits");
  if (logits.exists()) derive.loss_again = logits.choice({"once", "again"}) == 1;
  view.refuse_unknown_keys();
}

/// Whether weights are stored in fp32 alone; then their gradients are accumulated in it too.
bool read_weights(const YamlView& view, KeyReader& keys, Scenario& scenario) {
  const auto stored = keys.optional(view, "weight_precision");
  if (!stored.exists() || stored.choice({"16-bit", "fp32"}) != 1) return false;
  if (scenario.step.optimizer.master_weights)
    stored.problem("weights that are stored in fp32 need no master weights beside them", "one of the two");
  scenario.derive.stored_element = scenario.step.gradient_element = Bytes(4);
  return true;
}

void read_precision_and_update(const YamlView& view, KeyReader& keys, Scenario& scenario) {
  auto& step = scenario.step;
  keys.flag(view, "master_weights", step.optimizer.master_weights);
  const bool in_fp32 = read_weights(view, keys, scenario);
  read_precision(view, keys, scenario.training, in_fp32 || step.optimizer.master_weights);
  read_optimizer(view, keys, step.optimizer);
  read_muon(keys.optional(view, "muon"), keys, step.optimizer);
  read_gradients(view, keys, scenario);
  const auto overhead = keys.optional(view, "memory_overhead");
  if (overhead.exists()) step.memory_overhead = overhead.bytes();
  const auto outside = keys.optional(view, "step_overhead");
  if (outside.exists()) step.step_overhead = outside.seconds(true);
  read_offload(keys.optional(view, "offload"), keys, step.offload);
}

}  // namespace

void read_training(const YamlView& view, KeyReader& keys, Scenario& scenario) {
  read_precision_and_update(view, keys, scenario);
  read_recompute(keys.optional(view, "recompute"), keys, scenario);
  const auto attention = keys.optional(view, "attention");
  if (attention.exists()) scenario.blocks.fused_attention = attention.choice({"fused", "unfused"}) == 0;
  const auto kernel = keys.optional(view, "attention_kernel");
  if (kernel.exists()) {
    scenario.training.attention_kernel = kernel.text();
    if (!scenario.blocks.fused_attention) kernel.problem("attention is not fused", "attention: fused");
  }
  read_cross_entropy(keys.optional(view, "cross_entropy"), keys, scenario.derive);
  keys.flag(view, "dropout", scenario.blocks.dropout);
  read_kept_activations(keys.optional(view, "kept_activations"), keys, scenario.derive);
  read_local_updates(keys.optional(view, "local_updates"), keys, scenario);
  const auto traffic = keys.optional(view, "elementwise_traffic");
  if (traffic.exists()) scenario.derive.elementwise_traffic = traffic.number(1, 100);
  keys.flag(view, "causal_attention", scenario.training.causal_attention);
  const auto shards = keys.optional(view, "zero_shards");
  if (shards.exists()) {
    const auto chosen = shards.choice({"flat", "dimension", "matrices"});
    scenario.training.flat_zero_shards = chosen != 1;
    scenario.training.matrix_owners = chosen == 2;
    if (chosen == 2 && scenario.step.optimizer.kind == workloads::OptimizerKind::muon)
      shards.problem("Muon has a sharing of its own", "muon: {sharing: layer_wise}");
  }
  if (scenario.step.offload.optimizer && scenario.step.optimizer.kind == workloads::OptimizerKind::muon)
    view["offload"].problem("Newton-Schulz steps run on the chip", "no offload of the optimizer with muon");
  view.refuse_unknown_keys();
  scenario.derive.causal = scenario.training.causal_attention;
}

}  // namespace lockstep::scenario
