// PyTorch's FSDP: MosaicML's LLM Foundry, torchtitan and IBM's fms-fsdp.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {
namespace {

// HBM2 of 1555 GB/s: NVIDIA A100 data sheet, 40GB SXM.
constexpr GpuNode a100_40gb{"dgx-a100", 8, ", chip: {like: a100, memory: 40 GB, memory_bandwidth: 1555 GB/s}",
                            "{like: roce-400g, link: 200 Gbps}"};
constexpr GpuNode a100_80gb{"dgx-a100", 8, "", "{like: roce-400g, link: 200 Gbps}"};
// A limit of 500 W instead of 700: 600 W cost 10 to 15 % (factryze.ai/scale-atlas/power/power-capping), so dynamic
// power, 550 W of 700, goes with the clock to the 1.57th, and 500 W leave 0.636^(1/1.57) = 0.75 of the H100's 0.80.
constexpr GpuNode h100_500w{
    "dgx-h100", 8, ", chip: {like: h100, memory: 96 GB, memory_bandwidth: 2400 GB/s, kernels: {sustained: 0.6}}"};

// Products scaled row by row run in CUTLASS's kernels, those scaled as a whole in cuBLAS' (torchao's float8 recipes):
// the two tables of asynchronous tensor parallelism, 8B and 70B, have the same steps with both.
constexpr GpuNode h100_500w_scaled_by_rows{
    "dgx-h100", 8,
    ", chip: {like: h100, memory: 96 GB, memory_bandwidth: 2400 GB/s, kernels: {sustained: 0.6, matrix: {fp8: "
    "0.5}}}"};

void mosaicml(const CsvRow& row, MeasuredRun& run) {
  // The table's 64 layers make 52.0e9 parameters of a 70B model; 80 make the number that it prints.
  constexpr std::int64_t layers_of_70b = 80;
  run.set("model", row.text("model") != "MPT-70b"
                       ? gpt_shape(row)
                       : gpt_shape(layers_of_70b, row.integer("d_model"), row.integer("d_ff"), row.integer("heads"),
                                   row.integer("vocab"), row.integer("seq")));
  const auto chips = row.integer("n_chips");
  const auto chip = row.text("chip");
  const auto called = letters_and_digits(chip);
  const auto is = [&](std::string_view word) { return called.find(word) != std::string::npos; };
  if (is("a100")) {
    set_cluster(run, is("40gb") ? a100_40gb : a100_80gb, chips);
  } else if (is("h100")) {
    set_cluster(run, GpuNode{"dgx-h100"}, chips);
  } else {
    set_cluster(run, chip, chips);
  }
  // attn_impl: triton, whose kernels were written for the A100
  if (is("a100") || is("h100")) run.set("training.attention_kernel", "flash-attention-triton");
  // SHARD_GRAD_OP: weights that the forward gathered are kept for the backward.
  const auto mode = letters_and_digits(row.text("fsdp"));
  if (mode == "shardgradop") {
    run.set("communication.regather_weights", "false");
  } else if (mode != "fullshard") {
    skip_word(run, row, "fsdp", "FULL_SHARD or SHARD_GRAD_OP");
  }
  if (yes_or_no(row, "act_cpu_offload")) skip(run, "activations kept by the host");
  RunDegrees degrees;
  degrees.fsdp = chips;
  set_degrees(run, degrees);
  set_batch(run, row.integer("gbs"), row.integer("seq"), row.integer("mbs"), degrees);
  const auto precision = precision_called(run, row);
  run.set("training.precision", precision);
  run.set("training.master_weights", "true");
  if (lower_case(row.text("precision")).starts_with("amp"))
    run.set("training.gradient_reduce", "fp32");   // Composer's mixed precision DEFAULT; else PURE
  run.set("training.elementwise_traffic", "2.3");  // eager PyTorch, docs/models/kernels.md
  // fused_crossentropy, MPT's default. But LanguageCrossEntropy and LanguagePerplexity compute it again in every
  // microbatch (llm-foundry v0.1.0, models/mpt/modeling_mpt.py: train_metrics; composer v0.14.1, trainer/trainer.py:
  // _eval_train_metrics), by torch's cross_entropy, which autocast runs in fp32.
  run.set("training.cross_entropy", "with metrics");
  const auto recompute = lower_case(row.text("recompute"));
  if (recompute.starts_with("full")) {
    set_needed_recompute(run);
  } else if (recompute != "none") {
    skip_word(run, row, "recompute", "full or none");
  }
  if (const auto rate = row.number("tokens_per_s_per_gpu"))
    run.time = Measurement{*rate, Measurement::Unit::tokens_per_second_per_chip};
  set_family(run, row.text("model"), chip, precision);
}

/// In a pipeline FSDP2 gathers a stage's weights once a step and keeps them, and reduces gradients in the last
/// microbatch; until then they are whole, in fp32 (torchtitan's parallelize_llama.py: no reshard_after_forward with a
/// pipeline). That is what the data axis does with its optimizer state split.
void set_weights_gathered_once(MeasuredRun& run) {
  run.set("parallel.zero", 1);
  run.set("training.gradient_precision", "fp32");
  run.set("communication.updated_weights", "ahead");
}

/// Skips a run whose technique has a word that says nothing to this rule.
void check_technique(MeasuredRun& run, const CsvRow& row) {
  constexpr std::string_view known[] = {"1d",
                                        "2d",
                                        "3d",
                                        "4d",
                                        "fsdp",
                                        "fsdp2",
                                        "tp",
                                        "cp",
                                        "pp",
                                        "1f1b",
                                        "interleaved1f1b",
                                        "async",
                                        "asynctp",
                                        "vanilla",
                                        "compile",
                                        "interleaved",
                                        "torch",
                                        "float8",
                                        "fp8",
                                        "all",
                                        "gather"};
  const auto words = words_of(row.text("technique"));
  const bool all = std::all_of(words.begin(), words.end(), [&](const auto& word) {
    return std::find(std::begin(known), std::end(known), word) != std::end(known);
  });
  if (words.empty() || !all) skip_word(run, row, "technique", "words such as FSDP, CP, AsyncTP, compile and Float8");
}

void torchtitan(const CsvRow& row, MeasuredRun& run) {
  set_model(run, row);
  check_technique(run, row);
  const auto chips = row.integer("n_chips");
  const auto chip = row.text("chip");
  // All but the tables on other chips ran on one cluster, whose H100 have 96 GB.
  const auto is = [&](std::string_view word) { return lower_case(chip).find(word) != std::string::npos; };
  if (chip.empty() || is("h100")) {
    const bool by_rows = row.text("precision").find("rowwise") != std::string::npos;
    set_cluster(run, by_rows ? h100_500w_scaled_by_rows : h100_500w, chips);
  } else {
    set_cluster(run, chip, chips);
  }
  // Attention of PyTorch 2.5 and 2.6 on these chips.
  if (chip.empty() || is("h100") || is("h200")) run.set("training.attention_kernel", "flash-attention-2");
  const auto technique = letters_and_digits(row.text("technique"));
  RunDegrees degrees;
  degrees.fsdp = row.integer("fsdp");
  degrees.tensor = row.integer("tp");
  degrees.pipeline = row.integer("pp");
  degrees.context = row.integer("cp");
  if (technique.find("interleaved") != std::string::npos) degrees.chunks = 2;
  if (degrees.ranks() != chips) skip(run, "the degrees do not make up the chips");
  if (degrees.pipeline > 1) std::swap(degrees.fsdp, degrees.data);
  set_degrees(run, degrees);
  // A pipeline splits the local batch into as many microbatches as it has ranks, where nothing else is said (torchtitan
  // at 9dec370, parallelisms/pipelining_utils.py: n_microbatches = pipeline_parallel_degree); the tables say nothing.
  // Its interleaved schedule has two stages a rank (num_stages_per_rank).
  const auto local = row.integer("local_batch");
  if (local % degrees.pipeline != 0)
    skip(run,
         std::to_string(degrees.pipeline) + " microbatches do not divide the local batch of " + std::to_string(local));
  if (local > most_sequences) return skip(run, "a local batch of " + std::to_string(local));
  set_batch(run, row.integer("gbs", local * degrees.replicas()), row.integer("seq"),
            std::max<std::int64_t>(1, local / degrees.pipeline), degrees);
  if (degrees.context > 1) run.set("parallel.context_attention", "all_gather");
  if (degrees.pipeline > 1) {
    set_weights_gathered_once(run);
  } else if (degrees.context > 1) {
    run.set("parallel.zero", 3);  // weights are split over the context ranks too
  }
  const auto precision = precision_called(run, row);
  run.set("training.precision", precision);
  run.set("training.master_weights", "true");
  // `selective`, per operation, is the default of its configurations (train_configs/llama3_8b.toml).
  const auto recompute = lower_case(row.text("recompute"));
  if (recompute.find("selective") != std::string::npos || recompute.find("default") != std::string::npos) {
    // every other product in the order in which they run, and attention
    run.set("training.recompute.mode", "selective");
    run.set("training.recompute.kept",
            "[query projection, value projection, attention, gate projection, down projection]");
  } else if (recompute.starts_with("full")) {
    run.set("training.recompute", "full");
  } else if (recompute == "none") {
    run.set("training.recompute", "none");
  } else {
    skip_word(run, row, "recompute", "selective, full or none");
  }
  // The loss is compiled since 2025 (components/loss.py).
  run.set("training.cross_entropy", row.text("source").find("_2025") == std::string::npos ? "unfused" : "fused");
  if (const auto gib = row.number("mem_gib")) run.peak_bytes = *gib * (1 << 30);
  run.peak_is_reserved = true;                                            // components/metrics.py prints max_reserved
  if (technique == "fsdp") run.set("training.elementwise_traffic", "3");  // eager PyTorch, docs/models/kernels.md
  if (technique.find("asynctp") != std::string::npos) run.set("communication.collective_matmul", "true");
  if (const auto rate = row.number("tokens_per_s_per_gpu"))
    run.time = Measurement{*rate, Measurement::Unit::tokens_per_second_per_chip};
  set_family(run, row.text("model"), chip.substr(0, 4), precision);
}

/// Blocks that run again in the backward, all but their last product: the table prints model and hardware FLOPs as
/// shares of the peak, and a block's forward is a third of its model FLOPs. FLOPs of a token in units of 2 d_model,
/// with all pairs of tokens, as the table's source counts them.
std::int64_t blocks_run_again(const CsvRow& row, double mfu, double hfu) {
  const auto number = [&](const char* column) { return static_cast<double>(row.integer(column)); };
  const auto layers = row.integer("layers");
  const double d_ff = number("d_ff");
  const double forward =
      2 * number("d_model") * (1 + number("kv_heads") / number("heads")) + 3 * d_ff + 2 * number("seq");
  const double share = 3 * (hfu / mfu - 1) * forward / (forward - d_ff);
  if (share <= 0) return 0;
  return share < 1 ? std::llround(share * static_cast<double>(layers)) : layers;
}

void fms_fsdp(const CsvRow& row, MeasuredRun& run) {
  set_model(run, row);
  const auto chips = row.integer("n_chips");
  const auto chip = lower_case(row.text("chip"));
  // A node's rate as so many adapters of 100 Gbps.
  const auto adapters = std::to_string(row.integer("node_gbps") / 100);
  const auto nics = ", nics: {count: " + adapters + ", rate: 100 Gbps, pcie: 31.5 GB/s}";
  constexpr std::string_view fabric = "{like: efa, link: 100 Gbps}";
  if (chip.find("a100") != std::string::npos) {
    set_cluster(run, GpuNode{"dgx-a100", 8, nics, fabric}, chips);
  } else if (chip.find("h100") != std::string::npos) {
    set_cluster(run, GpuNode{"dgx-h100", 8, nics, fabric}, chips);
    run.set("training.attention_kernel", "flash-attention-2");  // scaled_dot_product_attention of PyTorch 2
  } else {
    set_cluster(run, row.text("chip"), chips);
  }
  RunDegrees degrees;
  const auto sharding = lower_case(row.text("sharding"));
  if (sharding == "hsdp") {  // split in a node, replicated over nodes
    degrees.fsdp = std::min<std::int64_t>(chips, 8);
    degrees.data = chips / degrees.fsdp;
    run.set("mesh.fsdp", "[gpu]");
    if (degrees.data > 1) run.set("mesh.data", "[node]");
  } else if (sharding == "fsdp") {
    degrees.fsdp = chips;
  } else {
    skip_word(run, row, "sharding", "fsdp or hsdp");
  }
  if (degrees.ranks() != chips) skip(run, "the degrees do not make up the chips");
  set_degrees(run, degrees);
  const auto local = row.integer("local_batch");
  if (local > most_sequences) return skip(run, "a local batch of " + std::to_string(local));
  set_batch(run, local * degrees.replicas(), row.integer("seq"), local, degrees);
  const auto precision = precision_called(run, row);
  run.set("training.precision", precision);
  run.set("training.master_weights", "true");
  run.set("training.cross_entropy", "unfused");
  for (const auto* share : {"mfu", "hfu"}) {
    if (is_blank(row, share)) skip_word(run, row, share, "a share of the peak, which says how many blocks run again");
  }
  if (const auto mfu = row.number("mfu"), hfu = row.number("hfu"); mfu && hfu && *mfu > 0) {
    const auto again = blocks_run_again(row, *mfu, *hfu);
    if (again > 0) {
      set_needed_recompute(run);  // use_reentrant=False stops early
      run.set("training.recompute.layers", again);
    }
  }
  if (const auto rate = row.number("tokens_per_s_per_gpu"))
    run.time = Measurement{*rate, Measurement::Unit::tokens_per_second_per_chip};
  set_family(run, row.text("model"), row.text("chip"), precision);
}

}  // namespace

std::vector<PublishedTable> fsdp_tables() {
  return {
      {"mosaicml_llm_foundry",
       "MPT of 125M to 70B with FSDP on A100 and H100 (mosaicml/llm-foundry)",
       {"Fused causal attention, master weights.",
        "A100: DGX nodes on 8 x 200 Gbps RoCE; 40 GB parts with 1555 GB/s. H100: DGX nodes on NDR InfiniBand.",
        "Attention with Triton's FlashAttention (`attn_impl: triton`), whose kernels were written for the A100.",
        "Gradients are reduced in every microbatch (in fp32 where the precision is called amp), weights gathered in "
        "each.",
        "Recomputation ends before a layer's last product (`activation_checkpointing_reentrant: false`, which stops "
        "early).",
        "Eager PyTorch: elementwise operations of layers move 2.3 times the bytes of fused kernels; but the loss is "
        "one kernel (`fused_crossentropy`) that writes no copy of the logits. Two metrics of training compute it again "
        "in every microbatch.",
        "SHARD_GRAD_OP keeps gathered weights for the backward."},
       {"model", "layers", "d_model", "d_ff", "heads", "vocab", "seq", "gbs", "mbs", "precision", "chip", "n_chips",
        "fsdp", "recompute", "act_cpu_offload", "tokens_per_s_per_gpu"},
       mosaicml},
      {"torchtitan",
       "LLaMA 3.1 with FSDP2, tensor and context parallelism on H100 (pytorch/torchtitan)",
       {"DGX nodes whose chips have 96 GB, 2400 GB/s and a limit of 500 W: three quarters of the clock at 700 W; "
        "attention with FlashAttention-2, as in PyTorch of that time.",
        "`selective` keeps every other product (query, value, gate, down) and attention. Cross-entropy is unfused, in "
        "fp32.",
        "Rows without torch.compile: elementwise operations move 3 times the bytes of fused kernels.",
        "Context parallelism gathers keys and values; weights are split over context ranks too. AsyncTP is collective "
        "matmul.",
        "A pipeline runs as many microbatches as it has ranks, torchtitan's default; its weights are gathered once a "
        "step and its gradients kept whole, in fp32, until the last microbatch.",
        "Tables of 2025 have a compiled loss. Products in fp8 that are scaled row by row run in slower kernels."},
       {"model", "seq", "local_batch", "gbs", "precision", "n_chips", "fsdp", "tp", "pp", "cp", "technique",
        "recompute", "tokens_per_s_per_gpu", "mem_gib"},
       torchtitan},
      {"fms_fsdp",
       "LLaMA 2 of 7B to 70B with FSDP on A100 and H100 (foundation-model-stack/fms-fsdp)",
       {"DGX nodes; the 400 or 800 Gbps of a node are shared by its chips. torch.compile, master weights, "
        "cross-entropy unfused.",
        "HSDP splits weights in a node and replicates them over nodes.",
        "As many blocks run again, without their last product, as the printed shares of model and hardware FLOPs "
        "say."},
       {"model", "layers", "d_model", "d_ff", "heads", "kv_heads", "vocab", "seq", "local_batch", "precision", "chip",
        "n_chips", "node_gbps", "sharding", "mfu", "hfu", "tokens_per_s_per_gpu"},
       fms_fsdp},
  };
}

}  // namespace lockstep::validation
