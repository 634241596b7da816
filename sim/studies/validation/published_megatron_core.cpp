// NeMo, Megatron Bridge and Megatron-LM of today: DGX Cloud's recipes, performance summaries, FP8 examples.
#include <algorithm>
#include <iterator>

#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {
namespace {

/// MaxText's rows of DGX Cloud: FSDP over `fsdp` chips, replicas of that beside each other.
void maxtext_step(const CsvRow& row, std::int64_t chips, MeasuredRun& run) {
  RunDegrees degrees;
  degrees.fsdp = row.integer("fsdp");
  if (chips % degrees.fsdp != 0) return skip(run, "FSDP groups do not divide the chips");
  degrees.data = chips / degrees.fsdp;
  set_degrees(run, degrees);
  set_batch(run, row.integer("gbs"), row.integer("seq"), row.integer("mbs", 1), degrees);
  run.set("training.precision", precision_called(run, row));
  run.set("training.weight_precision", "fp32");
  run.set("training.cross_entropy.mode", "in place");
  // maxtext/configure.sh: at v24.11.1 save_dot_except_mlpwi in 16 bits and save_dot_except_mlp in 8, at v25.02
  // save_qkv_proj. The last product of a layer is not needed again. XLA has a profile of a first run.
  const std::string projections = "query projection, key projection, value projection";
  set_needed_recompute(run, projections + (row.text("release").starts_with("v24") ? ", attention output" : ""));
}

/// Recipes of DGX Cloud that set more than their rows print: NVTE_FUSED_ATTN=0, or hidden_dropout and attention_dropout
/// of 0.1, in nemo_megatron, nemotron and grok1 of NVIDIA/dgxc-benchmarking at v24.11.1, v25.02 and v25.04. LLaMA and
/// Nemotron 15B run without either.
struct DgxcRecipe {
  std::string_view file, release;  ///< what the row's texts begin with
  bool flash_attention_2, dropout;
};
constexpr DgxcRecipe dgxc_recipes[] = {{"nemo_megatron/", "v24", true, true},
                                       {"nemo_megatron/", "v25.01", true, true},
                                       {"nemo_megatron/", "v25", false, true},
                                       {"nemotron/README_340b", "v2", true, false},
                                       {"grok1/README_314b", "v2", true, false}};

/// DeepSeek-V3 of 25.05 (deepseek_v3/pretraining/launch.sh, and scripts/performance/llm/pretrain_deepseek_v3.py of
/// NVIDIA/NeMo at its commit 7a8f1cc): tokens are dropped (USE_TOKEN_DROP), tp_comm_overlap is off, tokens go to
/// experts by NCCL, and on GB200 attention runs again (RM='core_attn'). Its container of May 2025 has no
/// backward for heads of 192 and 128 on Blackwell, which came with cuDNN 9.11 (Transformer Engine,
/// common/fused_attn/fused_attn.cpp), so that attention there is not fused.
bool is_deepseek_of_2505(const CsvRow& row) { return row.text("file").starts_with("deepseek_v3/pretraining"); }

void set_deepseek_of_2505(const CsvRow& row, MeasuredRun& run) {
  run.set("routing.capacity_factor", "1");
  run.set("communication.collective_matmul", "false");
  if (row.text("chip") != "GB200") return;
  run.set("training.attention", "unfused");
  run.set("training.recompute", "selective");
}

void set_dgxc_recipe(const CsvRow& row, MeasuredRun& run) {
  const auto file = row.text("file"), release = row.text("release");
  const auto* found = std::find_if(std::begin(dgxc_recipes), std::end(dgxc_recipes), [&](const auto& each) {
    return file.starts_with(each.file) && release.starts_with(each.release);
  });
  if (found == std::end(dgxc_recipes)) return;
  if (found->flash_attention_2) set_hopper_attention(run, row.text("chip"), "flash-attention-2");
  if (found->dropout) run.set("training.dropout", "true");
}

/// Finetuning runs on SQuAD, whose examples fill sequences together and do not see each other: finetune_recipe(
/// performance_mode=True) of NVIDIA/NeMo at v2.1.0, recipes/llama3_8b.py, packs them, and recipes of
/// NVIDIA/dgxc-benchmarking at v25.02 and v25.04 ask for it. An example has 175 tokens in the mean (2.2 of them fill a
/// sequence of 384, arXiv 2107.02027); the shape of their distribution is assumed, and what
/// attention takes hardly follows from it.
void set_finetuning_examples(MeasuredRun& run) {
  run.set("batch.lengths", (scenario::data_root() / "tests/validation/data/lengths/squad.csv").string());
}

// The label of older releases has the model; columns that they lack are empty.
void dgxc(const CsvRow& row, MeasuredRun& run) {
  const auto label = row.text("label");
  if (lower_case(row.text("usable")) != "yes") skip(run, "the table marks the row as not usable");
  if (lower_case(label).find("lora") != std::string::npos)
    skip(run, "low-rank adapters: most weights have no gradient");
  // A number of layers that the pipeline's chunks do not divide is not that of the run.
  const auto layers = row.integer("layers", 0);
  const bool maxtext = label.starts_with("Maxtext");
  const auto pipeline = maxtext ? row.integer("pp", 1) : row.integer("pp");
  const auto printed_chunks = row.integer("vp", 1);
  const auto chunks =
      std::clamp<std::int64_t>(pipeline, 1, 10'000) * std::clamp<std::int64_t>(printed_chunks, 1, 10'000);
  set_model(run, label, layers % chunks == 0 ? layers : 0);
  const auto chips = row.integer("n_gpus");
  const bool deepseek = is_deepseek_of_2505(row);
  set_cluster(run, row.text("chip"), chips, {.tokens_once_a_node = !deepseek});
  const auto model = model_called(label);
  set_family(run, model.empty() || model.starts_with("{") ? label.substr(0, label.find(" (")) : model, row.text("chip"),
             lower_case(row.text("precision")));
  time_in(row, "step_time_s", 1, run);
  set_hopper_attention(run, row.text("chip"), "cudnn-9.0");  // releases of 2024 and early 2025
  set_dgxc_recipe(row, run);
  if (maxtext) return maxtext_step(row, chips, run);
  // Megatron Core splits each expert over the tensor ranks unless it is told otherwise.
  const auto tensor = row.integer("tp");
  auto degrees = megatron_degrees(run, chips, tensor, pipeline, row.integer("cp", 1), row.integer("ep", 1),
                                  row.integer("etp", tensor));
  // Release 25.04 prints no chunks for 340B; 25.05 prints 12 for the same run.
  const bool unsaid = label.find("340b") != std::string::npos && row.text("vp") == "NA";
  degrees.chunks = unsaid ? 12 : printed_chunks;
  // gpt3_175b_hydra.yaml has had 6 since 25.02, whose page still prints 12; 25.04 prints 6 and the same times.
  if (row.text("file").starts_with("nemo_megatron/") && row.text("release").starts_with("v25.02")) degrees.chunks = 6;
  set_degrees(run, degrees);
  set_batch(run, row.integer("gbs"), row.integer("seq"), row.integer("mbs", 1), degrees);
  set_megatron_core(run, precision_called(run, row));
  set_8_bit_weights(run);
  set_software_of_experts(run);
  if (deepseek) set_deepseek_of_2505(row, run);
  if (label.find("Finetuning") != std::string::npos) set_finetuning_examples(run);
  // grok1_314b.yaml of NeMo 1, until 25.04: moe_expert_capacity_factor, moe_pad_expert_input_to_capacity.
  if (lower_case(label).starts_with("grok 1")) run.set("routing.capacity_factor", "1");
}

/// Settings of a recipe that the row does not have: scripts/performance/configs of NVIDIA-NeMo/Megatron-Bridge, for
/// 25.09 at 4054233, 27dfb3d and 0813a3f, for 25.11 at d19cb73, 6b296ac and 767255d, for 26.02 at v0.3.0, for 26.04 at
/// v0.4.0. The first recipe that fits is used.
struct Recipe {
  std::string_view release, model, chip;  ///< what the row's texts contain
  bool graph;                             ///< the whole iteration is one CUDA graph
  std::string_view again;                 ///< recompute_modules, as training.recompute.parts
  bool overlap = false;  ///< moe_a2a_overlap: all-to-alls of a forward beside a backward's compute, and the reverse
  bool deep_ep = false;  ///< enable_deepep, or hybridep: tokens cross to a node once; else NCCL's all-to-all
};
constexpr Recipe recipes[] = {
    {"25.09", "LLAMA3_8B", "B200", true, ""},
    {"25.09", "Qwen3_30B", "B200", true, ""},
    {"25.09", "Qwen3_235B", "GB200", true, ""},
    {"25.09", "DeepSeek", "H100", false, "[latent_projections, mlp]", true, true},
    {"25.09", "DeepSeek", "B200", false, "[latent_projections]"},
    {"25.11", "DeepSeek", "GB200", false, "[latent_projections]", false, true},
    {"25.11", "DeepSeek", "GB300", false, "", false, true},
    {"25.11", "Qwen3_", "GB", false, "", false, true},
    {"25.11", "LLAMA3_8B", "GB300", true, ""},
    {"25.11", "LLAMA3_8B", "DGX-B200", true, ""},
    {"25.11", "DeepSeek", "B200", false, "[latent_projections]"},
    {"25.11", "Qwen3_235B", "DGX-B200", false, "", true},
    {"25.11", "Qwen3_235B", "H100", false, "", true},
    {"25.11", "Qwen3_30B", "H100", false, "", true},
    {"25.11", "GPT OSS", "B200", false, "[norms, activations]"},
    {"25.11", "GPT OSS", "H100", false, "[norms, activations]"},
    {"26.0", "DeepSeek", "H100", false, "[latent_projections, mlp]", false, true},
    {"26.04", "DeepSeek", "GB200", false, "[mlp]", false, true},
    {"26.0", "DeepSeek", "", false, "[latent_projections]", false, true},
    {"26.0", "Kimi", "H100", false, "[latent_projections, mlp]"},
    {"26.0", "Kimi", "DGX-B200", false, "[latent_projections]"},
    {"26.0", "Kimi", "", false, "[latent_projections]", false, true},
    {"26.0", "Qwen3_235B", "H100", false, "", true},
    {"26.02", "Qwen3_235B", "B300", false, "", true},
    {"26.0", "Qwen3_235B", "GB", false, "", false, true},
    {"26.02", "Qwen3_30B", "H100", false, "", true, true},
    {"26.02", "Qwen3_30B", "DGX-B200", false, ""},
    {"26.0", "Qwen3_30B", "", false, "", false, true},
    {"26.04", "GPT OSS", "DGX-B200", false, "[norms, activations]", false, true},
    {"26.04", "GPT OSS", "DGX-B300", false, "", false, true},
    {"26.04", "GPT OSS", "GB200", false, "[norms, activations]", false, true},
    {"26.0", "GPT OSS", "B200", false, "[norms, activations]"},
    {"26.0", "GPT OSS", "H100", false, "[norms, activations]"},
};

const Recipe* recipe_of(const CsvRow& row) {
  const auto has = [&](std::string_view column, std::string_view word) {
    return row.text(column).find(word) != std::string::npos;
  };
  const auto* found = std::find_if(std::begin(recipes), std::end(recipes), [&](const auto& each) {
    return has("release", each.release) && has("model", each.model) && has("chip", each.chip);
  });
  return found == std::end(recipes) ? nullptr : found;
}

/// Layers of the chunks of DeepSeek-V3 and Kimi K2 (map_pp_vp_to_layout of Megatron Bridge's recipes): each chunk the
/// same number, rounded up, and the last chunk, which has the loss, what is left.
void set_layout(MeasuredRun& run, const RunDegrees& degrees) {
  constexpr std::int64_t layers = 61;
  if (degrees.pipeline > layers || degrees.chunks > layers) return;
  const auto chunks = degrees.pipeline * std::max<std::int64_t>(degrees.chunks, 1);
  const bool laid_out =
      run.value_of("model") == "deepseek-v3" || run.value_of("model").find("layers: 61,") != std::string::npos;
  if (!laid_out || chunks < 2 || chunks > layers) return;
  const auto each = (layers + chunks - 1) / chunks, left = layers - each * (chunks - 1);
  if (left < 1) return;
  std::string list = "[";
  for (std::int64_t chunk = 1; chunk < chunks; ++chunk) list += std::to_string(each) + ", ";
  run.set("pipeline.layers", list + std::to_string(left) + "]");
}

/// Layers whose activations wait on the host where FSDP is on (cpu_offloading_num_layers of the recipes in 8 bits).
void set_layers_on_host(MeasuredRun& run, const CsvRow& row, bool fsdp) {
  struct Offloaded {
    std::string_view model, chip;
    std::int64_t layers;
  };
  constexpr Offloaded recipes_with_fsdp[] = {
      {"70B", "GB300", 20}, {"70B", "GB200", 40}, {"70B", "B200", 5}, {"405B", "GB300", 10}, {"405B", "GB200", 92}};
  if (!fsdp) return;
  for (const auto& [model, chip, layers] : recipes_with_fsdp) {
    const auto has = [&](std::string_view column, std::string_view word) { return row.text(column).ends_with(word); };
    if (has("model", model) && row.text("chip").find(chip) != std::string::npos)
      return run.set("training.offload.activation_layers", layers);
  }
}

/// Rows that print another microbatch than the recipe with which they ran, and no chunks where it has some, or other
/// expert ranks: gpt_oss/workload_base_configs.py at v0.2.0, llama/llama3_workload_base_configs.py at v0.3.1. As
/// printed, the first and the last do not fit their chips. GPT OSS on B200 prints 8 expert ranks where the recipe has
/// 64; B300 in 26.02 prints 64 and takes as long for each microbatch, B200 with 8 in 26.02.01 six tenths of that.
struct OfRecipe {
  std::string_view release, model, chip, precision;
  std::int64_t micro_batch, chunks;
  std::int64_t experts = 0;  ///< ranks; 0: as printed
};
constexpr OfRecipe printed_otherwise[] = {{"25.11", "GPT OSS", "H100", "BF16", 1, 1},
                                          {"25.11", "GPT OSS", "DGX-B200", "BF16", 4, 1, 64},
                                          {"26.02.01", "LLAMA3_70B", "GB300", "MXFP8", 1, 5}};

const OfRecipe* recipe_printed_otherwise(const CsvRow& row) {
  const auto has = [&](std::string_view column, std::string_view word) {
    return row.text(column).find(word) != std::string::npos;
  };
  const auto* found = std::find_if(std::begin(printed_otherwise), std::end(printed_otherwise), [&](const auto& each) {
    return has("release", each.release) && has("model", each.model) && has("chip", each.chip) &&
           has("precision", each.precision);
  });
  return found == std::end(printed_otherwise) ? nullptr : found;
}

void megatron_bridge(const CsvRow& row, MeasuredRun& run) {
  const auto model = row.text("model");
  if (letters_and_digits(row.text("task")).find("pretraining") == std::string::npos)
    skip(run, "no pre-training: " + row.text("task"));
  set_model(run, model);
  const auto chips = row.integer("n_chips");
  const auto* recipe = recipe_of(row);
  set_cluster(run, row.text("chip"), chips,
              {.launched_as_graph = recipe != nullptr && recipe->graph,
               .tokens_once_a_node = recipe != nullptr && recipe->deep_ep});
  if (leading_integer(row.text("release"), 0) == 0) skip_word(run, row, "release", "a release such as 26.02");
  const auto* batch = recipe_printed_otherwise(row);
  const auto printed_experts = row.integer("ep", 1), printed_chunks = row.integer("vp", 1);
  const auto experts = batch != nullptr && batch->experts > 0 ? batch->experts : printed_experts;
  auto degrees = megatron_degrees(run, chips, row.integer("tp"), row.integer("pp"), row.integer("cp"), experts);
  degrees.chunks = batch != nullptr ? batch->chunks : printed_chunks;
  const bool fsdp = count_or_zero(row, "fsdp") > 0;
  if (fsdp) std::swap(degrees.fsdp, degrees.data);
  set_degrees(run, degrees);
  set_batch(run, row.integer("gbs"), row.integer("seq"), batch != nullptr ? batch->micro_batch : row.integer("mbs"),
            degrees);
  set_megatron_core(run, precision_called(run, row));
  set_8_bit_weights(run);
  run.set("training.cross_entropy", "in place");  // cross_entropy_fusion_impl: te
  set_layout(run, degrees);
  if (recipe != nullptr && recipe->overlap && degrees.chunks > 1) run.set("pipeline.schedule", "overlap-1f1b");
  if (recipe != nullptr && recipe->deep_ep)
    run.set("communication.dispatcher", row.text("chip").find("GB") != std::string::npos ? "hybridep" : "deepep");
  if (model.find("tokendrop") != std::string::npos) run.set("routing.capacity_factor", "1");
  set_software_of_experts(run, !row.text("release").starts_with("25"));
  // Megatron Core adds experts' biases and applies clamped activations in eager steps of 32 bits, with copies.
  if (run.value_of("model") == "gpt-oss-120b") run.set("training.elementwise_traffic", "4.3");
  set_layers_on_host(run, row, fsdp);
  if (recipe != nullptr && !recipe->again.empty()) {
    run.set("training.recompute.mode", "selective");
    run.set("training.recompute.parts", std::string(recipe->again));
  }
  if (const auto rate = row.number("tokens_per_s_per_gpu"))
    run.time = Measurement{*rate, Measurement::Unit::tokens_per_second_per_chip};
  set_family(run, model, row.text("chip"), row.text("precision").substr(0, row.text("precision").find(" (")));
}

void megatron_llama3(const CsvRow& row, MeasuredRun& run) {
  set_model(run, row.text("model"));
  const auto chips = row.integer("n_chips");
  set_cluster(run, row.text("chip"), chips);
  auto degrees = megatron_degrees(run, chips, row.integer("tp"), row.integer("pp"), row.integer("cp"), 1);
  degrees.chunks = row.integer("vp");
  set_degrees(run, degrees);
  set_batch(run, row.integer("gbs"), row.integer("seq"), row.integer("mbs"), degrees);
  set_megatron_core(run, precision_called(run, row));
  set_8_bit_weights(run);  // --fp8-param-gather
  if (const auto rate = row.number("tokens_per_s_per_gpu"))
    run.time = Measurement{*rate, Measurement::Unit::tokens_per_second_per_chip};
  set_family(run, row.text("model"), "H100", "fp8");
}

constexpr std::string_view core =
    "Megatron Core: fused causal attention, sequence parallelism beside tensor parallelism, nothing computed again, "
    "optimizer state split over the replicas (ZeRO-1). Neighbouring ranks are those of the tensor axis, then of the "
    "context, expert, data and pipeline axes. "
    "Tensor-parallel collectives run beside the products they belong to, but in NVFP4 (tp_comm_overlap), and what fp8 "
    "and NVFP4 products read is gathered in 8 and 4 bits. "
    "Updated weights are gathered beside the next forward (overlap_param_gather). "
    "What products in 8 and 4 bits read is kept in 8 bits for the backward, as Transformer Engine keeps it.";
constexpr std::string_view weights_in_8_bits =
    "In fp8 updated weights are gathered in its 8 bits (fp8_params, fp8_param_gather).";
constexpr std::string_view experts =
    "Expert ranks lie on the tensor and data axes (no tensor parallelism inside an expert); loads are even; nothing is "
    "dropped.";
constexpr std::string_view racks =
    "Jobs on 72-chip racks take 64 chips of each; fewer chips than a node has are a part of one.";

}  // namespace

std::vector<PublishedTable> megatron_core_tables() {
  return {
      {"dgxc_benchmarking",
       "NVIDIA's DGX Cloud recipes in releases 24.11 to 25.05 (NVIDIA/dgxc-benchmarking)",
       {core, weights_in_8_bits, "DGX nodes with NDR InfiniBand.",
        "Attention by FlashAttention-2 where the recipe sets NVTE_FUSED_ATTN=0 (GPT-3 up to 25.01, Nemotron 340B up to "
        "25.02, Grok up to 25.04), by cuDNN elsewhere; dropout of 0.1 in GPT-3's recipes alone.",
        "Rows named Maxtext: FSDP; projections of attention are kept as configure.sh says, all else runs again.",
        "A microbatch that is not printed has one sequence. Experts are split over the tensor ranks unless the row "
        "says "
        "otherwise, as Megatron Core does by default.",
        "340B rows of 25.04 print no chunks: 12, as 25.05 does for the same run. GPT-3 in 25.02 has the 6 chunks of "
        "its settings, not the 12 of its page.",
        "DeepSeek-V3 drops tokens, gathers nothing beside products, sends tokens by NCCL's all-to-all and on GB200 "
        "computes attention that is not fused twice, as its recipe of 25.05 and its cuDNN do.",
        "Finetuning runs on examples of SQuAD that share a sequence and do not see each other (lengths/squad.csv).",
        "Rows of 8B finetuning in 25.02 print 41 pipeline stages on 8 chips; the same runs stand in 25.04 with one."},
       {"label", "chip", "n_gpus", "precision", "seq", "tp", "pp", "cp", "ep", "fsdp", "vp", "mbs", "gbs",
        "step_time_s", "usable"},
       dgxc},
      {"megatron_bridge_perf",
       "Megatron Bridge's performance summaries (NVIDIA-NeMo/Megatron-Bridge)",
       {core, weights_in_8_bits, experts, racks,
        "Of two settings in one row the first counts. Where FSDP is on, weights are split over all replicas.",
        "What the recipes of a release say beside the row: modules computed again, iterations launched as one CUDA "
        "graph, all-to-alls of experts beside another microbatch's "
        "compute, and DeepEP; without it tokens go to each expert by NCCL's all-to-all. The loss works in place "
        "(cross_entropy_fusion_impl: te).",
        "GPT OSS on H100 in 25.11 and LLaMA 3 70B in MXFP8 on GB300 in 26.02.01 run the microbatch of their recipes, "
        "1, "
        "the latter in 5 chunks: the 4 and 2 that are printed fit neither chip. GPT OSS on B200 in 25.11 runs its "
        "recipe's 64 expert ranks, where 8 are printed."},
       {"release", "task", "model", "chip", "n_chips", "precision", "gbs", "mbs", "seq", "fsdp", "tp", "pp", "cp", "vp",
        "ep", "tokens_per_s_per_gpu"},
       megatron_bridge},
      {"megatron_llama3_fp8_h100",
       "LLaMA-3 in FP8 on H100 (NVIDIA/Megatron-LM, examples/llama)",
       {core, weights_in_8_bits},
       {"model", "seq", "gbs", "mbs", "precision", "chip", "n_chips", "tp", "pp", "cp", "vp", "tokens_per_s_per_gpu"},
       megatron_llama3},
  };
}

}  // namespace lockstep::validation
