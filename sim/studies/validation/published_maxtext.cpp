// MaxText on TPUs and on A3 virtual machines, and Google's TPU recipes.
#include <algorithm>
#include <iterator>

#include "sim/studies/maxtext_policies.hpp"
#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {
namespace {

constexpr std::string_view cheap_parts = "[norms, activations]";  // every product is kept
constexpr std::string_view all_but_projections =
    "[core_attention, norms, activations, mlp, experts]";  // projections of attention are kept

/// Skips a run whose `remat_policy` is no word of MaxText's that computes something again ('minimal', "custom (context
/// offload)").
void check_policy(MeasuredRun& run, const CsvRow& row) {
  const auto words = words_of(row.text("remat"));
  const auto& known = studies::maxtext_policies;
  if (words.empty() || words.front() == "none" ||
      std::find(std::begin(known), std::end(known), words.front()) == std::end(known))
    skip_word(run, row, "remat", "a policy of MaxText such as full, minimal or custom");
}

/// Skips a run which keeps a tensor that is none of MaxText's.
void check_kept(MeasuredRun& run, const CsvRow& row, std::string_view column) {
  constexpr std::string_view tensors[] = {"decoder_layer_input",
                                          "context",
                                          "query_proj",
                                          "key_proj",
                                          "value_proj",
                                          "qkv_proj",
                                          "out_proj",
                                          "mlpwi",
                                          "mlpwi_0",
                                          "mlpwi_1",
                                          "mlpwo"};
  for (const auto& word : words_of(row.text(column))) {
    if (std::find(std::begin(tensors), std::end(tensors), word) == std::end(tensors))
      skip_word(run, row, column, "names of tensors such as decoder_layer_input and query_proj");
  }
}

/// Sets what a `remat_policy` computes again, and whether what it keeps waits on the host.
void set_remat(MeasuredRun& run, std::string_view policy, std::string_view kept) {
  if (policy.find("offload") != std::string_view::npos || kept.find("decoder_layer_input") != std::string_view::npos)
    set_offload(run);
  const auto selective = [&](std::string_view parts) {
    run.set("training.recompute.mode", "selective");
    run.set("training.recompute.parts", std::string(parts));
  };
  if (policy.find("minimal") != std::string_view::npos || policy.starts_with("save_dot")) {
    selective(cheap_parts);
  } else if (policy.find("qkv_proj_offloaded") != std::string_view::npos ||
             kept.find("query_proj") != std::string_view::npos) {
    selective(all_but_projections);
  } else {
    set_needed_recompute(run);
  }
}

void set_maxtext(MeasuredRun& run, const std::string& precision) {
  run.set("training.precision", precision);
  run.set("training.weight_precision", "fp32");  // weight_dtype; cast where they are used
  run.set("training.cross_entropy.mode", "in place");
}

void maxtext_tpu(const CsvRow& row, MeasuredRun& run) {
  const auto mlp = row.text("mlp");
  const bool plain = mlp.starts_with("non-gated");
  if (!plain && !mlp.starts_with("gated")) skip_word(run, row, "mlp", "gated or non-gated");
  const auto count = [&](std::string_view column) { return std::to_string(row.integer(column)); };
  run.set("model", "{layers: " + count("layers") + ", d_model: " + count("d_model") + ", d_ff: " + count("d_ff") +
                       ", heads: " + count("heads") + ", kv_heads: " + count("kv_heads") +
                       ", head_size: " + count("head_dim") + ", vocabulary: " + count("vocab") +
                       ", mlp: " + (plain ? "plain" : "gated") + "}");
  const auto slices = row.integer("slices");
  const auto chips = row.integer("chips_per_slice");
  set_tpus(run, row.text("chip"), chips, slices);
  RunDegrees degrees;
  degrees.tensor = row.integer("ici_tp");
  if (chips % degrees.tensor != 0) return skip(run, "tensor ranks do not divide the chips of a slice");
  degrees.fsdp = chips / degrees.tensor;
  degrees.data = slices;
  set_degrees(run, degrees);
  if (slices > 1) run.set("mesh.data", "[pod]");
  const auto sequences = row.integer("gbs");
  set_batch(run, sequences, row.integer("seq"), sequences / degrees.replicas(), degrees);
  check_policy(run, row);
  set_remat(run, row.text("remat"), "");
  const auto precision = precision_called(run, row);
  set_maxtext(run, precision);
  time_in(row, "step_time_s_derived", 1, run);
  set_family(run, row.text("model"), row.text("chip"), precision);
}

void maxtext_gpu(const CsvRow& row, MeasuredRun& run) {
  set_model(run, row.text("model"));
  const auto chips = row.integer("n_chips");
  set_cluster(run, GpuNode{"a3-high-h100"}, chips);
  if (!run.skipped_because.empty()) return;
  set_hopper_attention(run, "h100", attention_of_cudnn_8);  // README of 2024-04-09
  RunDegrees degrees;
  const auto inside = row.integer("ici_fsdp"), outside = row.integer("dcn_fsdp", 1);
  if (inside > chips || outside > chips) return skip(run, "the degrees do not make up the chips");
  degrees.fsdp = inside * outside;
  degrees.data = row.integer("dcn_data");
  if (degrees.replicas() != chips) skip(run, "the degrees do not make up the chips");
  set_degrees(run, degrees);
  if (outside == 1 && degrees.data > 1) run.set("mesh", "{fsdp: gpu, data: node}");
  set_xla_without_profile(run, XlaLayers::unrolled);  // scan_layers=false
  const auto local = row.integer("per_device_batch");
  if (local > most_sequences) return skip(run, std::to_string(local) + " sequences on a chip");
  set_batch(run, local * chips, row.integer("seq"), local, degrees);
  check_policy(run, row);
  set_remat(run, row.text("remat"), "");
  set_maxtext(run, "bf16");
  if (const auto rate = row.number("tflops_per_chip"))
    run.time = Measurement{*rate, Measurement::Unit::tflops_per_chip, true};
  set_family(run, row.text("model"), "H100", "bf16");
}

/// Sets what mixtral_8x7b_dropped and mixtral_8x22b_dropped say in addition to the table
/// (benchmarks/maxtext_trillium_model_configs.py at tpu-recipes-v0.1.2): dense products over 1.25 slots of a fair
/// share, tokens moved by masks of a sequence, and the projections of attention kept.
void set_dropped(MeasuredRun& run) {
  run.set("routing.capacity_factor", "1.25");
  run.set("routing.slots", "by mask");
  run.set("training.recompute.mode", "selective");
  run.set("training.recompute.parts", std::string(all_but_projections));
  set_offload(run);
}

/// Whether a recipe holds its weights, and with them both moments, in 16 bits alone: `weight_dtype: bfloat16` in the
/// README of training/trillium/Llama3.1-70B-MaxText/v6e-32 at 3596002, without which 70B do not fit 32 chips of 32 GB.
bool weights_in_16_bits(std::string_view name, std::int64_t chips) {
  constexpr std::int64_t chips_of_the_recipe = 32;
  return name.starts_with("Llama3.1-70B") && chips == chips_of_the_recipe;
}

void tpu_recipes(const CsvRow& row, MeasuredRun& run) {
  const auto name = row.text("model");
  set_model(run, name);
  const auto slices = row.integer("slices", 1);
  const auto chips = row.integer("n_chips");
  if (chips % slices != 0) return skip(run, "the chips do not fill the slices");
  set_tpus(run, row.text("chip"), chips / slices, slices);
  RunDegrees degrees;
  degrees.tensor = row.integer("ici_tp", 1);
  if (chips / slices % degrees.tensor != 0) return skip(run, "tensor ranks do not divide the chips of a slice");
  const auto left = chips / slices / degrees.tensor;
  const bool all_left = !name.starts_with("Mixtral") || row.text("ici_fsdp") == "-1";
  degrees.fsdp = all_left ? left : row.integer("ici_fsdp", left);
  if (degrees.fsdp > left) return skip(run, "the degrees do not make up the chips");
  degrees.expert = left / degrees.fsdp;
  const bool across = row.integer("dcn_fsdp", 1) > 1;  // FSDP over slices too
  (across ? degrees.fsdp : degrees.data) *= slices;
  if (slices > 1 && !across) run.set("mesh.data", "[pod]");
  if (degrees.ranks() != chips) return skip(run, "the degrees do not make up the chips");
  set_degrees(run, degrees);
  if (name.starts_with("GPT3")) set_decomposed_gathers(run, degrees);
  const auto sequences = row.integer("gbs");
  set_batch(run, sequences, row.integer("seq"), sequences / degrees.replicas(), degrees);
  if (name.starts_with("Mixtral")) {
    set_dropped(run);
  } else {
    if (!row.text("remat").empty()) check_policy(run, row);  // MaxText's default is full
    if (!is_blank(row, "offload")) check_kept(run, row, "offload");
    set_remat(run, row.text("remat"), row.text("offload"));
  }
  const bool in_8_bits = row.text("quantization").find("int8") != std::string::npos;
  set_maxtext(run, in_8_bits                       ? "int8"
                   : is_blank(row, "quantization") ? "bf16"  // nothing is quantized
                                                   : precision_called(run, row, "quantization"));
  // num_vocab_tiling of the Gemma 3 recipes at tpu-recipes-v0.1.5: what a tile's backward needs is computed again.
  if (name.starts_with("Gemma3")) {
    run.set("training.cross_entropy.tiles", "16");
    run.set("training.cross_entropy.logits", "again");
  }
  if (weights_in_16_bits(name, chips)) {
    run.set("training.weight_precision", "16-bit");
    run.set("training.optimizer_state", "bf16");
  }
  time_in(row, "step_time_s", 1, run);
  set_family(run, name, row.text("chip"), run.value_of("training.precision"));
}

/// The results that a `custom` policy keeps, on the chip or on its host, as operations.
void set_kept(MeasuredRun& run, const std::string& kept) {
  constexpr std::pair<std::string_view, std::string_view> operations[] = {{"query_proj", "query projection"},
                                                                          {"key_proj", "key projection"},
                                                                          {"value_proj", "value projection"},
                                                                          {"context", "attention"}};
  std::string names;
  for (const auto& [tensor, operation] : operations) {
    if (kept.find(tensor) != std::string::npos) names += (names.empty() ? "" : ", ") + std::string(operation);
  }
  set_needed_recompute(run, names);
  // Recipes that keep attention's results keep them on the chip.
  if (kept.find("context") == std::string::npos) set_offload(run);
}

/// A chip is two devices to JAX and one here, so that axes of devices shrink by half, the innermost that can.
void tpu_ironwood(const CsvRow& row, MeasuredRun& run) {
  const auto name = row.text("model"), precision = precision_called(run, row);
  set_family(run, name, "v7x", precision);
  set_model(run, name);
  if (run.value_of("model").empty()) return;
  const auto chips = row.integer("n_chips");
  set_tpus(run, "tpu-v7x", chips, 1);
  RunDegrees degrees;
  degrees.context = row.integer("ici_context_devices");
  degrees.data = row.integer("ici_data_devices");
  degrees.fsdp = row.integer("ici_fsdp_devices");
  auto& halved = degrees.context > 1 ? degrees.context : degrees.fsdp;
  halved = std::max<std::int64_t>(halved / 2, 1);
  if (degrees.ranks() != chips) return skip(run, "the degrees do not make up the chips");
  set_degrees(run, degrees);
  if (degrees.context > 1) run.set("parallel.context_attention", "all_gather");
  const auto sequences = row.integer("gbs");
  set_batch(run, sequences, row.integer("seq"), sequences / degrees.replicas(), degrees);
  if (row.text("kept").empty()) skip_word(run, row, "kept", "names of tensors such as decoder_layer_input");
  check_kept(run, row, "kept");
  set_kept(run, row.text("kept"));
  set_maxtext(run, precision);
  time_in(row, "step_time_s", 1, run);
}

constexpr std::string_view slice_rule =
    "Slices are as near to a cube or square as their chips allow; FSDP over a slice, replicas over the data-centre "
    "network. A chip has the memory that XLA lets a program have.";
constexpr std::string_view remat_rule =
    "`minimal` and `save_dot` policies keep every product; `qkv_proj_offloaded` and recipes that keep the query "
    "projection compute MLPs and attention's core "
    "again, experts too; every other policy is full recomputation. What they offload waits on the host. Between "
    "products the activations of tensor-parallel ranks are split (`activation_embed` over `tensor`), here along the "
    "sequence. XLA writes neither the exponentials of the loss nor an fp32 copy of its logits.";

}  // namespace

std::vector<PublishedTable> maxtext_tables() {
  return {
      {"maxtext_tpu",
       "MaxText on TPU v4, v5e and others (AI-Hypercomputer/maxtext)",
       {slice_rule, remat_rule,
        "The model's shapes are reconstructed by the table, and its step times derived from TFLOP/s that count all "
        "pairs of tokens."},
       {"model", "chip", "slices", "chips_per_slice", "seq", "layers", "d_model", "d_ff", "heads", "kv_heads",
        "head_dim", "ici_tp", "remat", "gbs", "precision", "mlp", "vocab", "step_time_s_derived"},
       maxtext_tpu},
      {"maxtext_gpu_a3",
       "MaxText with LLaMA-2 7B on A3 High virtual machines (AI-Hypercomputer/maxtext)",
       {remat_rule, "TFLOP/s count all pairs of tokens, as MaxText did.",
        "FSDP inside a machine, replicas between machines. The scripts unroll the layers and give XLA no profile, so "
        "that it hides no reductions behind the backward. Attention by cuDNN 8.9.7, at FlashAttention-2's rates."},
       {"model", "n_chips", "per_device_batch", "seq", "ici_fsdp", "dcn_data", "dcn_fsdp", "remat", "tflops_per_chip"},
       maxtext_gpu},
      {"tpu_recipes_v5p_v6e",
       "Google's training recipes on TPU v5p and v6e (AI-Hypercomputer/tpu-recipes)",
       {slice_rule, remat_rule,
        "Experts: dropless, even loads; Mixtral with 1.25 slots of a fair share, moved by masks. What the recipe's "
        "directory calls fp8/int8 runs in int8. Llama 3.1 70B on 32 chips has its weights and moments in 16 bits. "
        "Products of GPT-3's tensor-parallel ranks run beside their collectives "
        "(`xla_tpu_decompose_all_gather_einsum`)."},
       {"model", "chip", "n_chips", "slices", "seq", "gbs", "ici_fsdp", "ici_tp", "dcn_fsdp", "remat", "quantization",
        "step_time_s", "offload"},
       tpu_recipes},
      {"tpu_recipes_ironwood",
       "Google's training recipes on TPU7x (AI-Hypercomputer/tpu-recipes)",
       {slice_rule, "A chip is one rank, though JAX sees two devices.",
        "What a recipe's policy keeps waits on the host, with the layers' inputs, unless it keeps attention's results; "
        "all "
        "else is computed again.",
        "Experts: dropless, even loads, split like other weights."},
       {"model", "n_chips", "seq", "gbs", "precision", "step_time_s", "kept", "ici_fsdp_devices", "ici_context_devices",
        "ici_data_devices"},
       tpu_ironwood},
  };
}

}  // namespace lockstep::validation
