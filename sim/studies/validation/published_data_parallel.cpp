// Replicas on one node: FlashAttention's training script, llm.c and modded-nanogpt.
#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {
namespace {

constexpr std::string_view ddp_bucket = "25 MB";  // bucket_cap_mb of PyTorch's DistributedDataParallel

/// Replicas of whole weights; ZeRO-1 splits the optimizer state between them.
void set_replicas(MeasuredRun& run, const CsvRow& row, std::int64_t chips) {
  RunDegrees degrees;
  degrees.data = chips;
  set_degrees(run, degrees);
  set_batch(run, row.integer("gbs"), row.integer("seq"), row.integer("mbs"), degrees);
  const auto parallelism = row.text("parallelism");
  if (parallelism == "zero1") {
    run.set("parallel.zero", 1);
    run.set("communication.weight_buckets", "matrix");  // updated weights travel tensor by tensor
  } else if (parallelism != "ddp") {
    skip_word(run, row, "parallelism", "ddp or zero1");
  }
}

void flash_attention(const CsvRow& row, MeasuredRun& run) {
  const auto precision = precision_called(run, row);
  set_family(run, row.text("model"), row.text("chip"), precision);
  run.set("model", gpt_shape(row));
  const auto chips = row.integer("n_chips");
  set_cluster(run, row.text("chip"), chips);
  set_replicas(run, row, chips);
  run.set("training.precision", precision);
  run.set("training.weight_precision", "fp32");  // autocast casts them where they are used
  run.set("training.gradient_reduce", "fp32");
  run.set("communication.gradient_buckets", std::string(ddp_bucket));
  run.set("training.gradient_clipping", "true");
  run.set("training.dropout", yes_or_no(row, "dropout") ? "true" : "false");
  // FlashAttention 0.2, of whose kernels no rates are published as numbers. Triton's are the same algorithm of the same
  // time, and no library of the catalog is nearer.
  run.set("training.attention_kernel", "flash-attention-triton");
  run.set("training.cross_entropy", "in place");  // Apex's xentropy with inplace_backward
  if (row.text("recompute") != "none") skip_word(run, row, "recompute", "none");
  time_in(row, "step_time_s_derived", 1, run);
}

/// The shape of modded-nanogpt's GPT-2, which rotary positions stand for: norms without weights, those of queries and
/// keys too, a squared ReLU.
std::string modernised_shape(const CsvRow& row) {
  const auto count = [&](std::string_view column) { return std::to_string(row.integer(column)); };
  return "{layers: " + count("layers") + ", d_model: " + count("d_model") + ", d_ff: " + count("d_ff") +
         ", heads: " + count("heads") + ", vocabulary: " + count("vocab") +
         ", mlp: plain, norm: none, qk_norm: true, tied_embeddings: true}";
}

void small_gpt2(const CsvRow& row, MeasuredRun& run) {
  const auto precision = precision_called(run, row);
  const auto chip = row.text("chip"), software = row.text("software"), reduction = row.text("reduction");
  set_family(run, row.text("model") + " of " + software, chip, precision);
  const auto positions = row.text("positions"), gradients = row.text("gradient_reduce");
  if (positions != "learned" && positions != "rotary") return skip_word(run, row, "positions", "learned or rotary");
  run.set("model", positions == "learned" ? gpt_shape(row) : modernised_shape(row));
  const auto chips = row.integer("n_chips");
  const bool in_cuda = software == "llm.c";
  set_cluster(run, chip, chips, {.launched_as_graph = in_cuda});  // a C program launches kernels sooner than they run
  set_replicas(run, row, chips);
  run.set("training.precision", precision);
  if (gradients == "fp32") {
    run.set("training.weight_precision", "fp32");  // autocast casts them where they are used
    run.set("training.gradient_reduce", "fp32");
  } else if (gradients == "bf16") {
    run.set("training.master_weights", "true");
  } else {
    return skip_word(run, row, "gradient_reduce", "fp32 or bf16");
  }
  if (reduction == "after the backward") {
    run.set("communication.gradient_buckets", "1 TB");
  } else if (reduction == "buckets of 25 MB") {
    run.set("communication.gradient_buckets", std::string(ddp_bucket));
  } else if (reduction != "layer by layer") {
    skip_word(run, row, "reduction", "after the backward, layer by layer or buckets of 25 MB");
  }
  if (yes_or_no(row, "gradient_clipping")) run.set("training.gradient_clipping", "true");
  // llm.c with USE_CUDNN; PyTorch 2.5.0 takes cuDNN on Hopper by default (pytorch.org/blog/pytorch2-5).
  set_hopper_attention(run, chip, "cudnn-9.0");
  run.set("training.cross_entropy", in_cuda ? "in place" : "fused");  // fused_classifier; logits.float(), compiled
  if (row.text("recompute") != "none") skip_word(run, row, "recompute", "none");
  time_in(row, "step_time_s", 1, run);
}

}  // namespace

std::vector<PublishedTable> data_parallel_tables() {
  return {
      {"flash_attention_training",
       "GPT-2 and GPT-3 of 125M to 2.7B as replicas on eight A100 (Dao-AILab/flash-attention)",
       {"Weights, gradients and their reduction in fp32, products in 16 bits by autocast; gradients are reduced beside "
        "the last backward in buckets of 25 MB, PyTorch's default.",
        "From 760M on ZeroRedundancyOptimizer splits the moments, here as ZeRO-1: gradients are reduced and scattered, "
        "and updated weights gathered matrix by matrix in 16 bits; the source reduces them whole and sends the weights "
        "in fp32.",
        "FlashAttention 0.2 at the rates of Triton's kernels of that time. Dropout of GPT2Config, 0.1. Everything "
        "beside products is fused, the loss works in place, nothing runs again; gradients are clipped."},
       {"model", "layers", "d_model", "d_ff", "heads", "vocab", "seq", "gbs", "mbs", "precision", "chip", "n_chips",
        "parallelism", "recompute", "dropout", "step_time_s_derived"},
       flash_attention},
      {"small_gpt2_8gpu",
       "GPT-2 as replicas on eight A100 or H100 (karpathy/llm.c, KellerJordan/modded-nanogpt)",
       {"llm.c: ZeRO-1, weights and gradients in bf16 with fp32 copies, gradients reduced after the last backward "
        "until June "
        "2024 and layer by layer since, updated weights gathered at the end; kernels never wait for the host; the "
        "loss works in place. cuDNN's attention, on A100 at FlashAttention-2's rates.",
        "modded-nanogpt: PyTorch's replicas with fp32 gradients in buckets of 25 MB, at which the compiled graph "
        "is cut (DDPOptimizer); cuDNN's attention, PyTorch 2.5.0's default on Hopper; a squared ReLU costs as GELU "
        "does."},
       {"software",          "model", "layers",  "d_model",     "d_ff",      "heads",           "vocab",
        "positions",         "seq",   "gbs",     "mbs",         "precision", "gradient_reduce", "reduction",
        "gradient_clipping", "chip",  "n_chips", "parallelism", "recompute", "step_time_s"},
       small_gpt2},
  };
}

}  // namespace lockstep::validation
