// MLPerf Training's GPT-3 and LLaMA 3.1 benchmarks: steps from the raw logs.
#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {
namespace {

void nvidia(const CsvRow& row, std::int64_t chips, MeasuredRun& run) {
  const auto set = [&](std::string_view flag) { return row.text("nvls_sharp").find(flag) != std::string::npos; };
  set_cluster(run, row.text("accelerator"), chips, {.launched_as_graph = set("LAYER_CUDA_GRAPH=1")});
  auto degrees = megatron_degrees(run, chips, row.integer("tp"), row.integer("pp"), row.integer("cp", 1), 1);
  degrees.chunks = row.integer("vp");
  set_degrees(run, degrees);
  set_batch(run, row.integer("gbs"), row.integer("seq"), row.integer("mbs"), degrees);
  const bool in_8_bits = yes_or_no(row, "fp8", false);
  set_megatron_core(run, yes_or_no(row, "fp4", false) ? "nvfp4" : in_8_bits ? "fp8" : precision_called(run, row));
  if (!set("TP_COMM_OVERLAP=True")) run.set("communication.collective_matmul", "false");
  // config_common.sh of the 4.0 submission: FP8_PARAMS=True.
  if (row.text("round") == "v4.0" && in_8_bits) run.set("training.low_precision_gather", "true");
}

constexpr std::string_view flags_column = "tpu_parallel";

/// What stands behind "name=" in a row's list of flags; none where the flag is not set.
std::optional<std::string> flag(const CsvRow& row, std::string_view name) {
  const auto flags = row.text(flags_column);
  const auto at = flags.find(name);
  if (at == std::string::npos) return std::nullopt;
  const auto value = flags.substr(at + name.size());
  return value.substr(0, value.find(' '));
}

/// The same as a count, 1 where the flag is not set; skips the run if it is none.
std::int64_t counted_flag(MeasuredRun& run, const CsvRow& row, std::string_view name) {
  const auto text = flag(row, name);
  if (!text) return 1;
  const auto count = leading_integer(*text, 0);
  if (count > 0 && std::to_string(count) == *text) return count;
  skip_cell(run, row, flags_column, std::string(name) + *text + " is not a count", "an integer of at least 1");
  return 1;
}

/// The time of a training step, of blocks that end with an evaluation: forward passes of one sequence a chip, each of
/// which takes as much of a step for as many sequences as forward is of it.
void set_time_of_blocks(MeasuredRun& run, const CsvRow& row, std::int64_t chips, bool recomputed) {
  const auto block = row.number("step_time_s_median_from_blocks"), steps = row.number("steps_per_block"),
             evaluations = row.number("evaluation_steps_per_block");
  if (!block || !steps || !evaluations)
    return skip(run, "blocks of Google's logs contain an evaluation: steps_per_block and evaluation_steps_per_block");
  const double forward = recomputed ? 1.0 / 4 : 1.0 / 3;  // of forward, recomputation, and a backward of two forwards
  const double share = forward * static_cast<double>(chips) / static_cast<double>(row.integer("gbs"));
  run.time = Measurement{*block * *steps / (*steps + *evaluations * share)};
}

void google(const CsvRow& row, const std::string& accelerator, std::int64_t chips, MeasuredRun& run) {
  const auto slices = counted_flag(run, row, "dcn_data_parallelism=");
  if (chips % slices != 0) return skip(run, "the chips do not fill the slices");
  set_tpus(run, accelerator, chips / slices, slices);
  RunDegrees degrees;
  degrees.tensor = counted_flag(run, row, "ici_tensor_parallelism=");
  degrees.fsdp = counted_flag(run, row, "ici_fsdp_parallelism=");
  degrees.data = slices > 1 ? slices : counted_flag(run, row, "ici_data_parallelism=");
  if (slices > 1) run.set("mesh.data", "[pod]");
  set_no_waits_between_slices(run);
  if (degrees.ranks() != chips) return skip(run, "the degrees do not make up the chips");
  set_degrees(run, degrees);
  set_decomposed_gathers(run, degrees);
  const auto sequences = row.integer("gbs");
  set_batch(run, sequences, row.integer("seq"), sequences / degrees.replicas(), degrees);
  run.set("training.cross_entropy", "in place");
  const auto quantization = flag(row, "quantization=");  // MaxText's default is none
  if (quantization && *quantization != "int8")
    skip_cell(run, row, flags_column, "quantization=" + *quantization + " is not known", "int8");
  run.set("training.precision", quantization ? "int8" : "bf16");
  run.set("training.weight_precision", "fp32");
  const auto policy = flag(row, "remat_policy=").value_or("");
  const bool recomputed = policy == "full";
  if (!recomputed && !policy.starts_with("save_dot") && !policy.starts_with("minimal"))
    skip_cell(run, row, flags_column, "remat_policy=" + policy + " is not known", "full, minimal or a save_dot policy");
  set_time_of_blocks(run, row, chips, recomputed);
  if (recomputed) return set_needed_recompute(run);
  const bool without_first =
      policy.find("except_mlpwi") != std::string::npos || policy.find("except_logits_ffn1") != std::string::npos;
  run.set("training.recompute.mode", "selective");
  run.set("training.recompute.parts", without_first ? "[norms, activations, mlp]" : "[norms, activations]");
}

void llama31(const CsvRow& row, MeasuredRun& run) {
  const auto benchmark = row.text("benchmark"), accelerator = row.text("accelerator");
  set_model(run, benchmark);
  const auto chips = row.integer("n_accel");
  const NodeUse use{.launched_as_graph = yes_or_no(row, "cuda_graph")};
  set_cluster(run, accelerator, chips, use);
  auto degrees = megatron_degrees(run, chips, row.integer("tp"), row.integer("pp"), row.integer("cp"), 1);
  degrees.chunks = row.integer("vp");
  set_degrees(run, degrees);
  set_batch(run, row.integer("gbs"), row.integer("seq"), row.integer("mbs"), degrees);
  set_megatron_core(run, precision_called(run, row));
  if (!yes_or_no(row, "tp_comm_overlap")) run.set("communication.collective_matmul", "false");
  set_8_bit_weights(run);  // FP8_PARAMS or FP8_PARAM_GATHER in config_common.sh, which config_common_fp4.sh turns off
  set_hopper_attention(run, accelerator, "cudnn-9.0");
  // config_common_fp4.sh of all submissions: NVTE_NVFP4_DISABLE_RHT; config_common_fp8attn.sh of 8B: FP8_DPA.
  if (run.value_of("training.precision") == "nvfp4") {
    run.set("training.hadamard_transform", "false");
    if (benchmark == "llama31_8b") run.set("training.attention_kernel", "cudnn-9-fp8");
  }
  time_in(row, "step_time_s", 1, run);
  set_family(run, benchmark, accelerator, run.value_of("training.precision"));
}

void mlperf(const CsvRow& row, MeasuredRun& run) {
  const auto accelerator = row.text("accelerator");
  const auto benchmark = row.text("benchmark");
  if (benchmark == "gpt3") {
    run.set("model", "gpt3-175b");
  } else if (const auto model = model_called(benchmark);
             benchmark.find("lora") == std::string::npos && !model.empty()) {
    run.set("model", model);
  } else {
    skip(run, "benchmark " + benchmark + " is not expressed");
  }
  const auto chips = row.integer("n_accel");
  if (lower_case(accelerator).find("tpu") != std::string::npos) {
    google(row, accelerator, chips, run);
  } else {
    nvidia(row, chips, run);
    // Containers of round 3.1 have Transformer Engine 0.12, which takes FlashAttention first; later ones cuDNN's.
    set_hopper_attention(run, accelerator, row.text("round").starts_with("v3") ? "flash-attention-2" : "cudnn-9.0");
  }
  for (const std::string_view column : {"step_time_s_median_logged", "step_time_s_median_from_blocks"}) {
    if (const auto seconds = row.number(column); seconds && !run.time) run.time = Measurement{*seconds};
  }
  set_family(run, benchmark, accelerator, run.value_of("training.precision"));
}

}  // namespace

std::vector<PublishedTable> mlperf_tables() {
  return {{"mlperf_llm",
           "GPT-3 175B in MLPerf Training 3.1 to 4.1, median step of the raw logs (mlcommons)",
           {"NVIDIA: Megatron Core as above, collectives beside products where TP_COMM_OVERLAP is set, layers launched "
            "as graphs where LAYER_CUDA_GRAPH is, updated weights gathered in 8 bits in round 4.0 (FP8_PARAMS); "
            "attention by FlashAttention-2 in round 3.1, whose Transformer Engine prefers it to cuDNN's; "
            "communication runs as the node's library does it by default.",
            "Google: int8 products; `save_dot` and `minimal` policies keep every product but those that they name "
            "(`ffn1`, `mlpwi`: the MLP's first). Activations between products are split over the tensor axis, and the "
            "loss works in place, as MaxText's. FSDP over a slice, replicas over slices. Products of tensor-parallel "
            "ranks run beside their collectives (`xla_tpu_decompose_all_gather_einsum=true`; it names gathers alone, "
            "reductions are taken alike).",
            "A block of Google's logs ends with an evaluation, which they do not time. It is taken off, each of its "
            "forward passes as a third of a training step's time for as many sequences, or as a quarter with full "
            "recomputation. Layers do not wait for hosts between slices, which do not reduce "
            "(`xla_tpu_use_megascale_host_reduction=false`)."},
           {"benchmark", "accelerator", "n_accel", "gbs", "seq", "tp", "pp", "vp", "cp", "mbs", "fp8", "tpu_parallel",
            "step_time_s_median_from_blocks", "steps_per_block", "evaluation_steps_per_block"},
           mlperf},
          {"mlperf_llama31",
           "LLaMA 3.1 405B and 8B in MLPerf Training 5.0 and 5.1, median step of the raw logs (mlcommons)",
           {"Megatron Core as above on AMD's chips too; iterations launched as graphs where the settings say so, "
            "collectives beside products where TP_COMM_OVERLAP is set, updated weights gathered in 8 bits in fp8.",
            "NVFP4 rotates nothing (NVTE_NVFP4_DISABLE_RHT); 8B computes attention in 8 bits with it (FP8_DPA).",
            "Every submission that names its settings; a second one that repeats a run of the round before is left "
            "out. Racks of 72 chips are used whole where only 72 divide a job."},
           {"benchmark", "accelerator", "n_accel", "gbs", "seq", "tp", "pp", "vp", "cp", "mbs", "precision",
            "cuda_graph", "tp_comm_overlap", "step_time_s"},
           llama31}};
}

}  // namespace lockstep::validation
