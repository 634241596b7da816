// Megatron-LM's own functional tests, which log the most that PyTorch's allocator gave out.
#include <algorithm>

#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {
namespace {

/// GPT with a plain MLP, layer norms and, with learned positions, biases (the tests with `disable-bias-linear` rotate
/// positions), or Mixtral's block. Megatron pads the vocabulary to a multiple of 128 on each tensor rank.
std::string block_of(const CsvRow& row) {
  const auto tensor = row.integer("tp");
  constexpr std::int64_t divisible_by = 128;
  const auto unit = divisible_by * std::max<std::int64_t>(tensor, 1);
  std::string text = "{";
  const auto add = [&](std::string_view key, std::int64_t value) {
    text += std::string(key) + ": " + std::to_string(value) + ", ";
  };
  for (const auto* key : {"layers", "d_model", "heads", "kv_heads"}) add(key, row.integer(key));
  add("vocabulary", (row.integer("vocab") + unit - 1) / unit * unit);
  if (const auto experts = row.integer("experts"); experts > 1)
    return text + "moe: {experts: " + std::to_string(experts) +
           ", experts_per_token: " + std::to_string(row.integer("experts_per_token")) +
           ", d_ff: " + std::to_string(row.integer("d_ff")) + "}}";
  add("d_ff", row.integer("d_ff"));
  if (const auto positions = row.integer("positions", 0); positions > 0) {
    add("learned_positions", positions);
    text += "qkv_bias: true, attention_output_bias: true, mlp_bias: true, ";
  }
  return text + "mlp: plain, norm: layer_norm}";
}

void megatron_test(const CsvRow& row, MeasuredRun& run) {
  set_family(run, row.text("model"), row.text("chip"), "bf16");
  run.set("model", block_of(row));
  const auto chips = row.integer("n_chips"), tensor = row.integer("tp");
  set_cluster(run, row.text("chip"), chips);
  auto degrees =
      megatron_degrees(run, chips, tensor, row.integer("pp"), row.integer("cp"), row.integer("ep"), row.integer("etp"));
  degrees.chunks = row.integer("vp");
  set_degrees(run, degrees);
  set_batch(run, row.integer("gbs"), row.integer("seq"), row.integer("mbs"), degrees);
  set_megatron_core(run, "bf16");
  if (!yes_or_no(row, "sequence_parallel") && tensor > 1) {
    run.set("parallel.sequence_parallel", "false");
    run.set("communication.collective_matmul", "false");
  }
  if (yes_or_no(row, "dropout")) run.set("training.dropout", "true");
  run.set("training.gradient_precision", "fp32");  // main_grad, with bf16 always
  run.set("training.gradient_clipping", "true");
  set_software_of_experts(run);
  run.peak_bytes = row.number("peak_allocated_bytes");
  run.peak_of_last_stage = true;
}

}  // namespace

std::vector<PublishedTable> megatron_test_tables() {
  return {
      {"megatron_core_tests",
       "Megatron Core's own tests on A100, H100 and GB200, memory alone (NVIDIA/Megatron-LM)",
       {"Gradients in fp32, optimizer state split over the replicas, nothing recomputed; dropout where the test does "
        "not turn it off.",
        "The peak is the most that PyTorch's allocator gave out (`mem-max-allocated-bytes`) on the last rank, which "
        "writes the log: of a pipeline's last stage.",
        "Larger tests do not say their number of chips: it is the one whose share of the optimizer state makes the "
        "memory between steps (`mem-allocated-bytes`). Tests for which none does were left out. Times are not "
        "compared: tests run deterministic kernels."},
       {"model",   "layers",
        "d_model", "d_ff",
        "heads",   "kv_heads",
        "vocab",   "positions",
        "experts", "experts_per_token",
        "seq",     "mbs",
        "gbs",     "chip",
        "n_chips", "tp",
        "pp",      "cp",
        "ep",      "etp",
        "vp",      "sequence_parallel",
        "dropout", "peak_allocated_bytes"},
       megatron_test}};
}

}  // namespace lockstep::validation
