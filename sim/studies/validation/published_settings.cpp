// Degrees, batches and settings of published runs.
#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/studies/megatron_order.hpp"
#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {
namespace {

constexpr std::int64_t most = 1'000'000'000'000'000;  // of anything counted; products stop there

/// A factor below 1 counts as 1.
std::int64_t product(std::initializer_list<std::int64_t> factors) {
  std::int64_t made = 1;
  for (const auto each : factors) {
    const auto factor = std::max<std::int64_t>(each, 1);
    made = made > most / factor ? most : made * factor;
  }
  return made;
}

/// Whether a scenario's `model` is a mixture of experts.
bool has_experts(const std::string& model) {
  constexpr std::string_view words[] = {"moe:", "mixtral", "deepseek-v3", "llama-4", "gpt-oss", "-a22b", "-a3b"};
  return std::any_of(std::begin(words), std::end(words),
                     [&](auto word) { return model.find(word) != std::string::npos; });
}

struct NamedPrecision {
  std::string_view word, precision;
};
// The first that is a part of the text. fp16 has the rate and the bytes of bf16.
constexpr NamedPrecision precisions[] = {{"fp8", "fp8"},   {"float8", "fp8"},    {"fp4", "nvfp4"}, {"int8", "int8"},
                                         {"bf16", "bf16"}, {"bfloat16", "bf16"}, {"fp16", "bf16"}, {"float16", "bf16"}};

}  // namespace

std::int64_t RunDegrees::replicas() const { return product({expert, fsdp, data}); }
std::int64_t RunDegrees::ranks() const { return product({tensor, context, replicas(), pipeline}); }

void skip(MeasuredRun& run, std::string why) {
  if (run.skipped_because.empty()) run.skipped_because = std::move(why);
}

RunDegrees megatron_degrees(MeasuredRun& run, std::int64_t chips, std::int64_t tensor, std::int64_t pipeline,
                            std::int64_t context, std::int64_t experts, std::int64_t expert_tensor) {
  RunDegrees degrees{tensor, context, 1, 1, 1, pipeline, 1};
  const auto model_ranks = degrees.ranks();
  if (chips % model_ranks != 0) {
    skip(run, "impossible as printed: " + std::to_string(model_ranks) + " ranks of one replica on " +
                  std::to_string(chips) + " chips");
    return degrees;
  }
  degrees.data = chips / model_ranks;
  if (experts <= 1) return degrees;
  if (tensor % expert_tensor != 0) {
    skip(run, "impossible as printed: experts split over " + std::to_string(expert_tensor) + " of " +
                  std::to_string(tensor) + " tensor ranks");
    return degrees;
  }
  const auto inside = tensor / expert_tensor;  // tensor ranks with experts of their own
  if (inside > 1 && expert_tensor > 1) run.set("parallel.expert_tensor", expert_tensor);
  if (const auto ranks = studies::ranks_of_experts(experts, inside, std::max<std::int64_t>(context, 1), degrees.data)) {
    degrees.expert = ranks->expert;
    degrees.data /= degrees.expert;
    if (ranks->over != "[expert]") run.set("parallel.experts_over", ranks->over);
  } else {
    skip(run, "experts over other ranks than those of the tensor, context and data axes are not expressed");
  }
  return degrees;
}

void set_degrees(MeasuredRun& run, const RunDegrees& degrees) {
  const auto add = [&](std::string_view key, std::int64_t value) {
    if (value > 1) run.set(key, value);
  };
  add("parallel.tensor", degrees.tensor);
  add("parallel.context", degrees.context);
  add("parallel.expert", degrees.expert);
  add("parallel.fsdp", degrees.fsdp);
  add("parallel.data", degrees.data);
  add("parallel.pipeline", degrees.pipeline);
  if (degrees.chunks > 1 && degrees.pipeline > 1) {
    run.set("pipeline.schedule", "interleaved");
    run.set("pipeline.chunks", degrees.chunks);
  }
}

void set_software_of_experts(MeasuredRun& run, bool of_2026) {
  if (has_experts(run.value_of("model"))) run.set("routing.software", of_2026 ? "megatron 2026" : "megatron 2025");
}

void set_needed_recompute(MeasuredRun& run, const std::string& kept) {
  const auto model = run.value_of("model");
  const auto has = [&](std::string_view word) { return model.find(word) != std::string::npos; };
  if (has("gemma") || has("norms_per_layer"))
    return run.set("training.recompute", "full");  // a norm reads the last product
  const bool experts = has_experts(model);
  run.set("training.recompute.mode", "selective");
  run.set("training.recompute.kept", std::string(experts ? "[expert down projection" : "[down projection") +
                                         (kept.empty() ? "" : ", ") + kept + "]");
}

void time_in(const CsvRow& row, std::string_view column, double seconds, MeasuredRun& run) {
  if (const auto value = row.number(column)) run.time = Measurement{*value * seconds};
}

void set_decomposed_gathers(MeasuredRun& run, const RunDegrees& degrees) {
  if (degrees.tensor > 1) run.set("communication.collective_matmul", "true");
}

void set_no_waits_between_slices(MeasuredRun& run) {
  auto cluster = run.value_of("cluster");
  if (cluster.find("pods: ") == std::string::npos) return;
  run.set("cluster", cluster.insert(cluster.size() - 1, ", dcn: {like: ethernet-dcn, barrier: 0 ms}"));
}

void set_offload(MeasuredRun& run) {
  constexpr std::int64_t all_layers = 1000;  // of any model here
  run.set("training.offload.activation_layers", all_layers);
}

void set_batch(MeasuredRun& run, std::int64_t sequences, std::int64_t length, std::int64_t micro_batch,
               const RunDegrees& degrees) {
  const auto at_once = product({std::max<std::int64_t>(micro_batch, 1), degrees.replicas()});
  if (micro_batch < 1 || sequences % at_once != 0)
    return skip(run,
                "microbatches of " + std::to_string(at_once) + " sequences do not divide " + std::to_string(sequences));
  run.set("batch.sequences", sequences);
  run.set("batch.sequence_length", length);
  run.set("batch.microbatches", sequences / at_once);
}

void set_megatron_2021(MeasuredRun& run) {
  set_megatron_order(run);
  run.set("training.precision", "bf16");  // fp16 has its rate and its bytes
  run.set("training.master_weights", "true");
  run.set("training.attention", "unfused");
  run.set("training.causal_attention", "false");
  run.set("training.dropout", "true");
  run.set("training.cross_entropy", "unfused");  // core/tensor_parallel/cross_entropy.py, in fp32, kernel by kernel
  run.set("communication.gradient_buckets", "1 TB");
  if (run.value_of("parallel.pipeline").empty()) return;
  run.set("communication.host_waits_for_transfers", "true");  // megatron/p2p_communication.py synchronizes the device
  if (!run.value_of("parallel.tensor").empty()) run.set("pipeline.scatter_gather", "true");
}

void set_deepspeed_2021(MeasuredRun& run) {
  run.set("communication.weight_buckets", "matrix");
  run.set("communication.gradient_buckets", "layer");
}

void set_megatron_order(MeasuredRun& run) {
  const auto cluster = run.value_of("cluster");
  constexpr std::string_view chips_of_a_node = "chips: ";
  const auto found = cluster.find(chips_of_a_node);
  if (found == std::string::npos) return;
  std::string mesh;
  for (const auto& [axis, place] : studies::megatron_order(
           leading_integer(cluster.substr(found + chips_of_a_node.size()), 1),
           [&](std::string_view name) { return leading_integer(run.value_of("parallel." + std::string(name)), 1); }))
    mesh += (mesh.empty() ? "" : ", ") + axis + ": " + place;
  if (!mesh.empty()) run.set("mesh", "{" + mesh + "}");
}

void set_megatron_core(MeasuredRun& run, const std::string& precision) {
  run.set("training.precision", precision);
  set_megatron_order(run);
  if (!run.value_of("parallel.pipeline").empty() && run.value_of("pipeline.chunks").empty())
    run.set("communication.host_waits_for_transfers", "true");  // batch_p2p_sync, on where nothing is interleaved
  if (!run.value_of("parallel.tensor").empty()) {
    // Userbuffers have no products in 4 bits: recipes of NVFP4 set tp_comm_overlap to False (Megatron Bridge at v0.3.0
    // to v0.4.0, configs/llama; MLPerf 5.1, config_common_fp4.sh: "TP overlap not supported yet").
    run.set("communication.collective_matmul", precision == "nvfp4" ? "false" : "true");
    run.set("communication.share_activation_gathers", "false");  // core/tensor_parallel/layers.py keeps its rank's part
    if (precision == "fp8") run.set("communication.activation_gathers", "8-bit");
    // Transformer Engine 2.8, pytorch/distributed.py, _all_gather_nvfp4.
    if (precision == "nvfp4") run.set("communication.activation_gathers", "4-bit");
  }
  // Transformer Engine keeps what 8-bit products read as they read it, and what activation functions read in 16 bits
  // (activation_func_fp8_input_store is off by default).
  if (precision == "fp8" || precision == "mxfp8" || precision == "nvfp4")
    run.set("training.kept_activations", "{format: 8-bit, functions: 16-bit}");
  run.set("training.master_weights", "true");
  run.set("parallel.zero", 1);
  run.set("communication.updated_weights", "ahead");
}

void set_8_bit_weights(MeasuredRun& run) {
  if (run.value_of("training.precision") == "fp8") run.set("training.low_precision_gather", "true");
}

void set_hopper_attention(MeasuredRun& run, std::string_view chip, std::string_view kernel) {
  const auto text = lower_case(chip);
  for (const std::string_view hopper : {"h100", "h200", "h800"}) {
    if (text.find(hopper) != std::string::npos) return run.set("training.attention_kernel", std::string(kernel));
  }
}

void set_xla_without_profile(MeasuredRun& run, XlaLayers layers) {
  if (layers == XlaLayers::unrolled)
    return run.set("communication.gradient_buckets", "1 TB");  // after the last backward
  run.set("communication.prefetch", "0");
  run.set("communication.reductions_in_flight", "0");
}

std::string precision_called(MeasuredRun& run, const CsvRow& row, std::string_view column) {
  const auto lower = lower_case(row.text(column));
  for (const auto& [word, precision] : precisions) {
    if (lower.find(word) != std::string::npos) return std::string(precision);
  }
  skip_word(run, row, column, "a precision such as bf16");
  return "bf16";
}

void set_family(MeasuredRun& run, std::string_view model, std::string_view chip, std::string_view precision) {
  run.family = std::string(model) + ", " + std::string(chip) + ", " + std::string(precision);
}

}  // namespace lockstep::validation
