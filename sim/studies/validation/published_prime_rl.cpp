// prime-rl's trainers on one node, with the memory that PyTorch's allocator reserved.
#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {
namespace {

// config.json of Qwen/Qwen3-0.6B and Qwen/Qwen3-4B-Instruct-2507.
constexpr std::pair<std::string_view, std::string_view> blocks[] = {
    {"0.6B",
     "{layers: 28, d_model: 1024, d_ff: 3072, heads: 16, kv_heads: 8, head_size: 128, vocabulary: 151936, "
     "tied_embeddings: true, qk_norm: true}"},
    {"4B",
     "{layers: 36, d_model: 2560, d_ff: 9728, heads: 32, kv_heads: 8, head_size: 128, vocabulary: 151936, "
     "tied_embeddings: true, qk_norm: true}"}};

void set_qwen(MeasuredRun& run, const std::string& model) {
  for (const auto& [word, block] : blocks) {
    if (model.find(word) != std::string::npos) return run.set("model", std::string(block));
  }
  set_model(run, model);
}

/// The loss of supervised finetuning is unfused (train.py at 11d87ee: logits in fp32, then torch's cross_entropy). That
/// of reinforcement learning is computed from the logits of 2,048 words at a time, again in the backward
/// (FusedOutputLinear, fused_lm_head_chunk_size).
void set_loss(MeasuredRun& run, std::string_view trainer) {
  constexpr std::string_view parts_of_vocabulary = "75";  // of 151,936 words
  run.set("training.cross_entropy.mode", "unfused");
  if (trainer != "rl") return;
  run.set("training.cross_entropy.tiles", std::string(parts_of_vocabulary));
  run.set("training.cross_entropy.logits", "again");
}

void prime_rl(const CsvRow& row, MeasuredRun& run) {
  const auto model = row.text("model");
  set_family(run, model, row.text("chip"), "bf16");
  set_qwen(run, model);
  const auto chips = row.integer("n_chips");
  set_cluster(run, row.text("chip"), chips);
  RunDegrees degrees;
  degrees.fsdp = chips;
  set_degrees(run, degrees);
  const auto micro_batches = row.integer("micro_batches");
  if (micro_batches > 1'000'000) return skip(run, "more microbatches than a step has");
  set_batch(run, micro_batches * chips, row.integer("seq"), 1, degrees);
  run.set("training.precision", "bf16");
  run.set("training.weight_precision", "fp32");  // optimization_dtype, cast by FSDP2 to param_dtype bf16
  run.set("training.gradient_reduce", "fp32");   // reduce_dtype
  const auto trainer = row.text("trainer");
  if (trainer != "rl" && trainer != "sft") skip_word(run, row, "trainer", "rl or sft");
  set_loss(run, trainer);
  const auto recompute = lower_case(row.text("recompute"));
  set_needed_recompute(run);
  if (recompute == "offload") {
    run.set("training.offload.activation_layers", "1000");
  } else if (recompute != "recompute") {
    skip_word(run, row, "recompute", "Recompute or Offload");
  }
  if (const auto gib = row.number("peak_reserved_gib")) run.peak_bytes = *gib * (1 << 30);
  run.peak_is_reserved = true;
}

}  // namespace

std::vector<PublishedTable> prime_rl_tables() {
  return {
      {"prime_rl",
       "Qwen3 on one node with FSDP2, supervised and in reinforcement learning, memory alone "
       "(PrimeIntellect-ai/prime-rl)",
       {"Weights, gradients and moments in fp32, split over all ranks; weights gathered in bf16, gradients reduced "
        "in fp32 (config.py at 11d87ee); layers recomputed and compiled; one sequence a microbatch, two microbatches.",
        "The supervised loss is unfused; that of reinforcement learning has the logits of 2,048 words at a time, "
        "computed again in the backward.",
        "The peak is what PyTorch's allocator reserved at most, fragments included. Times are not compared: steps "
        "of reinforcement learning do more than train."},
       {"model", "trainer", "seq", "micro_batches", "n_chips", "chip", "recompute", "peak_reserved_gib"},
       prime_rl}};
}

}  // namespace lockstep::validation
