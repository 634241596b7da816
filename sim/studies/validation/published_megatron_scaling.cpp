// Megatron Core's scaling of GPT shapes on H100, and NeMo's long sequences.
#include <algorithm>

#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {
namespace {

void set_rate(MeasuredRun& run, const CsvRow& row, std::string_view column) {
  if (const auto rate = row.number(column)) run.time = Measurement{*rate, Measurement::Unit::tflops_per_chip, true};
}

void megatron_core_scaling(const CsvRow& row, MeasuredRun& run) {
  // The source says bf16 of its large table, and nothing of the shapes that it scales strongly beside it.
  const auto precision = is_blank(row, "precision") ? "bf16" : precision_called(run, row);
  set_family(run, row.text("model"), "H100", precision);
  const auto layers = row.integer("layers"), width = row.integer("d_model");
  run.set("model", gpt_shape(layers, width, row.integer("d_ff", 4 * width), row.integer("heads"), row.integer("vocab"),
                             row.integer("seq")));
  const auto chips = row.integer("n_chips");
  set_cluster(run, row.text("chip"), chips);
  auto degrees = megatron_degrees(run, chips, row.integer("tp"), row.integer("pp"), 1, 1);
  for (const std::int64_t layers_of_a_chunk : {2, 1}) {
    if (degrees.pipeline > 1 && degrees.chunks == 1 && layers % (degrees.pipeline * layers_of_a_chunk) == 0)
      degrees.chunks = layers / (degrees.pipeline * layers_of_a_chunk);
  }
  set_degrees(run, degrees);
  // Without a pipeline all sequences of a replica, 4, are one microbatch: reducing the gradients of 32B takes as long
  // as a pass of two or three, and most of that hides in the measured step.
  const auto sequences = row.integer("gbs");
  const auto of_replica = std::max<std::int64_t>(sequences / std::max<std::int64_t>(degrees.replicas(), 1), 1);
  set_batch(run, sequences, row.integer("seq"), row.integer("mbs", degrees.pipeline > 1 ? 1 : of_replica), degrees);
  set_megatron_core(run, precision);
  run.set("training.gradient_precision", "fp32");
  set_hopper_attention(run, row.text("chip"), "cudnn-9.0");
  run.set("training.dropout", "true");           // Megatron's default of --hidden-dropout and --attention-dropout
  run.set("training.cross_entropy", "unfused");  // the flags that the source prints lack --cross-entropy-loss-fusion
  set_rate(run, row, "tflops_per_gpu");
}

void nemo_long_sequence(const CsvRow& row, MeasuredRun& run) {
  const auto model = row.text("model"), precision = precision_called(run, row);
  set_family(run, model.substr(0, model.find(' ')), model.substr(model.rfind(' ') + 1), precision);
  set_model(run, model);
  auto degrees = RunDegrees{};
  degrees.tensor = row.integer("tp");
  degrees.pipeline = row.integer("pp");
  degrees.context = row.integer("cp");
  degrees.data = row.integer("dp");
  set_cluster(run, model, degrees.ranks());
  set_degrees(run, degrees);
  constexpr std::int64_t tokens_of_a_k = 1024, most_k = 1'000'000;
  const auto length = row.integer("seq_k");
  if (length > most_k) return skip(run, "sequences of " + std::to_string(length) + " Ki tokens");
  set_batch(run, row.integer("gbs"), length * tokens_of_a_k, 1, degrees);
  set_megatron_core(run, precision);
  // NeMo 24.03; its launcher has turned cuDNN's attention on since August 2024 (NVIDIA/NeMo-Framework-Launcher, pull
  // request 422).
  set_hopper_attention(run, model, "flash-attention-2");
  set_rate(run, row, "tflops_cp");
}

}  // namespace

std::vector<PublishedTable> megatron_scaling_tables() {
  return {
      {"megatron_core_h100_scaling",
       "weak and strong scaling of GPT shapes, 1.7B to 462B on 48 to 6144 H100 (NVIDIA/Megatron-LM)",
       {"Megatron Core as above, gradients in fp32, as Megatron-LM accumulates and reduces those of bf16; a "
        "loss that is not fused, since the printed flags lack --cross-entropy-loss-fusion; dropout, which is on by "
        "default.",
        "Not published and assumed: one sequence in a microbatch of a pipeline and all of a replica's in one without, "
        "two layers in a chunk of an interleaved pipeline, or one where two do not divide, d_ff = 4 d_model; an empty "
        "precision is bf16. TFLOP/s count all pairs of tokens."},
       {"model", "layers", "d_model", "d_ff", "heads", "vocab", "seq", "gbs", "mbs", "precision", "chip", "n_chips",
        "tp", "pp", "tflops_per_gpu"},
       megatron_core_scaling},
      {"nemo_long_sequence",
       "LLaMA 2 7B on H100 and LLaMA 3 8B on B200 with sequences of 4 Ki to 1 Mi tokens (NVIDIA/NeMo)",
       {"Megatron Core as above. The chips are the product of the degrees of the runs with context parallelism; one "
        "sequence in a microbatch; TFLOP/s count all pairs of tokens."},
       {"model", "seq_k", "gbs", "tp", "pp", "dp", "cp", "tflops_cp", "precision"},
       nemo_long_sequence},
  };
}

}  // namespace lockstep::validation
