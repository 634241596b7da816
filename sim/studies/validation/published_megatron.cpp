// Megatron-LM of 2021 and 2022 on A100: the interleaved-pipeline paper, the activation-recomputation paper, vTrain's
// runs.
#include <algorithm>

#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {
namespace {

/// A row with layers, d_model, ..., tp, pp, vp, gbs, mbs and n_chips.
void gpt_step(const CsvRow& row, MeasuredRun& run) {
  run.set("model", gpt_shape(row));
  const auto chips = row.integer("n_chips");
  set_cluster(run, "a100", chips);
  auto degrees = megatron_degrees(run, chips, row.integer("tp"), row.integer("pp"), 1, 1);
  degrees.chunks = row.integer("vp");
  set_degrees(run, degrees);
  set_batch(run, row.integer("gbs"), row.integer("seq"), row.integer("mbs"), degrees);
  set_megatron_2021(run);
  set_family(run, row.text("model"), "A100", "fp16");
}

/// The column's first word: "full (uniform)".
void set_recompute(MeasuredRun& run, const CsvRow& row) {
  const auto text = row.text("recompute");
  for (const std::string_view mode : {"full", "selective", "none"}) {
    if (text.starts_with(mode)) return run.set("training.recompute", std::string(mode));
  }
  skip_word(run, row, "recompute", "full, selective or none");
}

void sc21(const CsvRow& row, MeasuredRun& run) {
  gpt_step(row, run);
  run.set("parallel.sequence_parallel", "false");
  set_recompute(run, row);
  time_in(row, "step_time_s_derived", 1, run);
}

void korthikanti_step(const CsvRow& row, MeasuredRun& run) {
  gpt_step(row, run);
  run.set("parallel.sequence_parallel", yes_or_no(row, "sp") ? "true" : "false");
  set_recompute(run, row);
  time_in(row, "step_time_s", 1, run);
}

// One layer alone, without embedding: the time of a microbatch.
void korthikanti_layer(const CsvRow& row, MeasuredRun& run) {
  const auto width = row.integer("d_model"), heads = row.integer("heads");
  run.set("model", "{layers: 1, d_model: " + std::to_string(width) + ", d_ff: " + std::to_string(4 * width) +
                       ", heads: " + std::to_string(heads) +
                       ", vocabulary: 0, final_norm: false, mlp: plain, norm: layer_norm, qkv_bias: true, "
                       "attention_output_bias: true, mlp_bias: true}");
  const auto tensor = row.integer("tp");
  set_cluster(run, "a100", tensor);
  set_degrees(run, {tensor});
  const auto sequences = row.integer("mbs");
  set_batch(run, 2 * sequences, row.integer("seq"), sequences, {tensor});
  set_megatron_2021(run);
  const auto experiment = row.text("experiment");
  const auto has = [&](std::string_view word) { return experiment.find(word) != std::string::npos; };
  run.set("parallel.sequence_parallel", has("sequence parallel") ? "true" : "false");
  run.set("training.recompute", has("full") ? "full" : has("selective") ? "selective" : "none");
  if (!has("baseline") && !has("sequence parallel") && !has("full") && !has("selective"))
    skip_word(run, row, "experiment", "baseline, sequence parallel, full or selective recompute");
  run.time_of = MeasuredRun::TimeOf::microbatch;
  time_in(row, "total_ms", 1e-3, run);
  set_family(run, row.text("model"), "A100", "fp16");
}

/// GPT-2's 50257 words, filled up so that every tensor rank has a multiple of 128 (Megatron-LM,
/// megatron/tokenizer/tokenizer.py: make_vocab_size_divisible_by).
std::int64_t padded_vocabulary(std::int64_t tensor) {
  constexpr std::int64_t words = 50257, of_a_rank = 128;
  const auto multiple = of_a_rank * std::max<std::int64_t>(tensor, 1);
  return (words + multiple - 1) / multiple * multiple;
}

void vtrain(const CsvRow& row, const GpuNode& node, MeasuredRun& run) {
  const auto width = row.integer("hidden size");
  const auto length = row.integer("sequence length");
  run.set("model", gpt_shape(row.integer("# layers"), width, 4 * width, row.integer("attention heads"),
                             padded_vocabulary(row.integer("tensor parallelism")), length));
  const auto chips = row.integer("# GPUs");
  set_cluster(run, node, chips);
  const auto degrees =
      megatron_degrees(run, chips, row.integer("tensor parallelism"), row.integer("pipeline parallelism"), 1, 1);
  set_degrees(run, degrees);
  set_batch(run, row.integer("global batch"), length, row.integer("micro batch"), degrees);
  set_megatron_2021(run);
  run.set("parallel.sequence_parallel", "false");
  run.set("training.recompute", "full");
  time_in(row, "iteration time (ms)", 1e-3, run);
}

void vtrain_multi(const CsvRow& row, MeasuredRun& run) {
  vtrain(row, {"dgx-a100", 8, ", nics: {count: 4, rate: 200 Gbps, pcie: 31.5 GB/s}"}, run);
  set_family(run, row.text("Parameters (billion)") + "B", "A100", "fp16");
}

/// The source calls these rows ground truth, but its own simulator made them: docs/validation.md, "vTrain, one node".
void vtrain_single(const CsvRow& row, MeasuredRun& run) {
  vtrain(row, {"dgx-a100"}, run);
  set_family(run, row.text("# layers") + " layers", "A100", "fp16");
  skip(run, "a prediction of the source's own simulator, not a measurement");
}

constexpr std::string_view megatron_2021 =
    "Megatron-LM of its time: attention in single steps over all pairs of tokens, dropout, a loss that is not "
    "fused, fp32 copies of fp16 weights; gradients are reduced after the last "
    "backward; tensor-parallel ranks send a part each to the next stage (scatter_gather_tensors_in_pipeline). fp16 "
    "counts as bf16, which has its rate and its bytes.";

}  // namespace

std::vector<PublishedTable> megatron_tables() {
  const std::vector<std::string> steps{"model", "layers", "d_model", "d_ff", "heads", "vocab", "seq",
                                       "gbs",   "mbs",    "n_chips", "tp",   "pp",    "vp",    "recompute"};
  const std::vector<std::string> vtrain_columns{
      "# GPUs",   "global batch",    "micro batch",        "hidden size",          "attention heads",
      "# layers", "sequence length", "tensor parallelism", "pipeline parallelism", "iteration time (ms)"};
  const auto with = [](std::vector<std::string> columns, std::initializer_list<const char*> more) {
    columns.insert(columns.end(), more.begin(), more.end());
    return columns;
  };
  return {
      {"megatron_sc21_table1",
       "3D parallelism with interleaved schedules, 1.7B to 1T on 32 to 3072 A100 (arXiv 2104.04473, table 1)",
       {megatron_2021, "DGX A100 with eight HDR adapters.",
        "The step time is that of the table's source column, from TFLOP/s with recomputation."},
       with(steps, {"step_time_s_derived"}),
       sc21},
      {"korthikanti2022_iteration_time",
       "full recomputation against selective with sequence parallelism, 22B and 175B on A100 (arXiv 2205.05198, table "
       "5)",
       {megatron_2021},
       with(steps, {"sp", "step_time_s"}),
       korthikanti_step},
      {"korthikanti2022_layer_time",
       "forward and backward of one layer of 22B on 8 A100 (arXiv 2205.05198, table 4)",
       {megatron_2021,
        "The time is that of one more microbatch of a model of one layer without embedding: no update, no reduction "
        "over replicas."},
       {"experiment", "model", "heads", "d_model", "tp", "seq", "mbs", "total_ms"},
       korthikanti_layer},
      {"vtrain_multi",
       "3.6B to 175B on 64 to 512 A100 (VIA-Research/vTrain)",
       {"Measured with Megatron-DeepSpeed (data/README.md at f8dda84), taken as", megatron_2021,
        "Full recomputation, 1F1B, a vocabulary of 50257 filled up to a multiple of 128 for each tensor rank; nodes "
        "with four HDR adapters (800 Gbps)."},
       with(vtrain_columns, {"Parameters (billion)"}),
       vtrain_multi},
      {"vtrain_single",
       "small models on at most 8 A100, as vTrain predicts them (VIA-Research/vTrain)",
       {"Not measured, though the source calls them ground truth: what they say of the reductions over 2, 4 and 8 "
        "replicas is, to 0.01 ms, the source's own formula (src/predictor.py at f8dda84) and its table of all-reduces "
        "(trace/a100), for a vocabulary of 50257 with an unembedding of its own. No row is simulated."},
       vtrain_columns,
       vtrain_single},
  };
}

}  // namespace lockstep::validation
