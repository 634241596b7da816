// torchtitan's TOML. Defaults: torchtitan/config/job_config.py of pytorch/torchtitan before 9810191; before 2025
// degrees stood under [training] and [experimental].
#include <algorithm>
#include <array>

#include "sim/studies/recipes/dialects_private.hpp"

namespace lockstep::recipes {
namespace {

struct Degrees {
  std::int64_t replicate = 1, shard = 1, tensor = 1, context = 1, pipeline = 1, expert = 1;
};

void set_model(Recipe& recipe) {
  auto& o = recipe.options;
  const auto* name = o.find("model.name");
  const auto* flavor = o.find("model.flavor");
  if (recipe.has_model) return;
  if (name == nullptr || flavor == nullptr)
    return recipe.problem("model", "name and flavor are missing", "the recipe's [model], or --model NAME");
  const auto model = model_called(name->text() + "/" + flavor->text());
  if (model.empty())
    return o.problem(*flavor, in_quotes(name->text() + " " + flavor->text()) + " is not a model that Lockstep knows",
                     "--model with a config.json or a name of lockstep list models");
  recipe.draft.set("model", model, *flavor);
  recipe.layers = layers_of(model);
}

Degrees set_degrees(Recipe& recipe) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  using Names = RecipeOptions::Names;
  Degrees degrees;
  const Names tensor{"parallelism.tensor_parallel_degree", "training.tensor_parallel_degree"};
  const Names context{"parallelism.context_parallel_degree", "experimental.context_parallel_degree"};
  const Names pipeline{"parallelism.pipeline_parallel_degree", "experimental.pipeline_parallel_degree"};
  const Names expert{"parallelism.expert_parallel_degree"};
  const Names replicate{"parallelism.data_parallel_replicate_degree", "training.data_parallel_replicate_degree"};
  const Names shard{"parallelism.data_parallel_shard_degree", "training.data_parallel_shard_degree"};
  const auto size = [&](Names names) { return o.number(names, 1, 1'000'000).value_or(1); };
  degrees.tensor = size(tensor);
  degrees.context = size(context);
  degrees.pipeline = size(pipeline);
  degrees.replicate = size(replicate);
  const auto said = "tensor " + std::to_string(degrees.tensor) + " x context " + std::to_string(degrees.context) +
                    " x pipeline " + std::to_string(degrees.pipeline) + " x replicate " +
                    std::to_string(degrees.replicate);
  const auto model_ranks = degrees.tensor * degrees.context * degrees.pipeline;
  const auto* because = o.find(pipeline) != nullptr ? o.find(pipeline) : o.find(tensor);
  const auto left = replicas_of(recipe, model_ranks * degrees.replicate, because, said);
  const auto wanted = o.number(shard, -1, 1'000'000).value_or(-1);
  if (wanted > 0 && wanted != left)
    o.problem(*o.find(shard),
              said + " x shard " + std::to_string(wanted) + " are not the machine's " + std::to_string(recipe.chips) +
                  " chips",
              "-1 or " + std::to_string(left));
  degrees.shard = left;
  if (degrees.tensor > 1) set_axis(recipe, "tensor", degrees.tensor, *o.find(tensor));
  if (degrees.context > 1) set_axis(recipe, "context", degrees.context, *o.find(context));
  if (degrees.pipeline > 1) set_axis(recipe, "pipeline", degrees.pipeline, *o.find(pipeline));
  const auto experts = size(expert);
  const auto inside = o.number({"parallelism.expert_tensor_parallel_degree"}, 1, 1'000'000).value_or(degrees.tensor);
  if (experts > 1) {
    degrees.shard = place_experts(recipe, experts, inside, degrees.tensor, degrees.context, left, *o.find(expert));
    degrees.expert = left / degrees.shard;
    if (inside > 1 && inside < degrees.tensor)
      d.set("parallel.expert_tensor", inside, *o.find("parallelism.expert_tensor_parallel_degree"));
  }
  const auto rest = std::to_string(recipe.chips) + " chips / (" + said +
                    (degrees.expert > 1 ? " x expert " + std::to_string(degrees.expert) : std::string()) + ")";
  const bool piped = degrees.pipeline > 1;
  set_axis(recipe, "data", piped ? degrees.replicate * degrees.shard : degrees.replicate,
           piped ? rest : std::string("data_parallel_replicate_degree"));
  if (!piped) set_axis(recipe, "fsdp", degrees.shard, rest);
  // FSDP2 in a pipeline gathers a stage's weights once a step and keeps them: what ZeRO-1 with weights gathered ahead
  // is.
  if (piped) {
    d.set("parallel.zero", 1, std::string("FSDP in a pipeline gathers weights once a step and keeps them"));
    d.set("communication.updated_weights", "ahead", std::string("the same"));
  } else if (degrees.context > 1 || degrees.expert > 1) {
    // Weights are split over context and expert ranks too, and copied over replicas.
    if (degrees.context > 1)
      d.set("parallel.zero.context", 3, std::string("FSDP splits weights over context ranks too"));
    if (degrees.expert > 1)
      d.set("parallel.zero.expert", 3, std::string("FSDP splits dense weights over expert ranks too"));
  }
  if (degrees.context > 1) {
    const auto rotate = o.word("parallelism.context_parallel_rotate_method").value_or("allgather");
    d.set("parallel.context_attention", rotate == "alltoall" ? "ring" : "all_gather",
          std::string(rotate == "alltoall" ? "context_parallel_rotate_method: pieces go around"
                                           : "torchtitan's context_parallel_rotate_method"));
  }
  return degrees;
}

struct NamedSchedule {
  std::string_view theirs, ours;
  std::int64_t chunks;
};
constexpr std::array<NamedSchedule, 8> schedules{{{"1f1b", "1f1b", 1},
                                                  {"gpipe", "gpipe", 1},
                                                  {"interleaved1f1b", "interleaved", 2},
                                                  {"loopedbfs", "breadth-first", 2},
                                                  {"interleavedzerobubble", "interleaved-zb", 2},
                                                  {"zbvzerobubble", "zb-v", 2},
                                                  {"dualpipev", "dualpipe-v", 2},
                                                  {"zerobubble", "zb-h1", 1}}};

/// Layers of each stage where embedding and head count as so many (generate_llm_fqn_per_model_part).
void set_stages(Recipe& recipe, std::int64_t layers, std::int64_t stages) {
  auto& o = recipe.options;
  const auto before = o.number("parallelism.pipeline_parallel_first_stage_less_layers", 0).value_or(1);
  const auto behind = o.number("parallelism.pipeline_parallel_last_stage_less_layers", 0).value_or(1);
  const auto all = layers + before + behind;
  if (layers == 0 || stages < 2 || stages > 10'000 || all / stages < std::max(before, behind) || all / stages == 0)
    return;
  std::vector<std::int64_t> list;
  for (std::int64_t stage = 0; stage < stages; ++stage) list.push_back(all / stages + (stage < all % stages ? 1 : 0));
  list.front() -= before;
  list.back() -= behind;
  recipe.draft.set("pipeline.layers", list_of(list), std::string("torchtitan counts embedding and head as layers"));
}

void set_pipeline(Recipe& recipe, const Degrees& degrees, std::int64_t layers) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  const auto* option = o.find({"parallelism.pipeline_parallel_schedule", "experimental.pipeline_parallel_schedule"});
  const auto per_stage = o.number("parallelism.pipeline_parallel_layers_per_stage");
  if (degrees.pipeline <= 1) return;
  std::int64_t chunks = 1;
  if (option != nullptr) {
    const auto name = in_lower_case(option->text());
    const auto* found =
        std::find_if(schedules.begin(), schedules.end(), [&](const auto& each) { return each.theirs == name; });
    if (found == schedules.end())
      return o.problem(*option, in_quotes(option->text()) + " has no counterpart",
                       "1F1B, GPipe, Interleaved1F1B, LoopedBFS, InterleavedZeroBubble, ZBVZeroBubble or DualPipeV");
    d.set("pipeline.schedule", std::string(found->ours), *option);
    chunks = found->chunks;
    if (per_stage && layers > 0 && chunks > 1) {
      chunks = std::max<std::int64_t>(1, ((layers + 2 + *per_stage - 1) / *per_stage) / degrees.pipeline);
      d.set("pipeline.chunks", chunks, *o.find("parallelism.pipeline_parallel_layers_per_stage"));
    }
  } else {
    d.set("pipeline.schedule", "1f1b", std::string("torchtitan's default of pipeline_parallel_schedule"));
  }
  set_stages(recipe, layers, degrees.pipeline * chunks);
}

void set_batch(Recipe& recipe, const Degrees& degrees) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  const auto replicas = degrees.replicate * degrees.shard * degrees.expert;
  const RecipeOptions::Names local_names{"training.local_batch_size", "training.batch_size"};
  const auto local = o.number(local_names, 1, 1'000'000).value_or(8);
  const auto global = o.number({"training.global_batch_size"}, -1, 1'000'000'000).value_or(-1);
  const std::string by_default = "torchtitan's default: local_batch_size on each replica";
  const auto sequences = global > 0 ? global : local * replicas;
  if (global > 0)
    d.set("batch.sequences", sequences, *o.find("training.global_batch_size"));
  else
    d.set("batch.sequences", sequences,
          "local_batch_size " + std::to_string(local) + " on each of " + std::to_string(replicas) + " replicas");
  const auto own_length = o.number({"training.seq_len"}, 1, 1'000'000'000);
  const auto length = recipe.sequence_length ? recipe.sequence_length : own_length;
  if (recipe.sequence_length)
    d.set("batch.sequence_length", *length, std::string("--sequence-length"));
  else if (length)
    d.set("batch.sequence_length", *length, *o.find("training.seq_len"));
  else
    d.set("batch.sequence_length", 2048, std::string("torchtitan's default of training.seq_len"));
  auto micro = local;
  const auto old = o.number("experimental.pipeline_parallel_microbatches");
  const auto size = o.number("parallelism.pipeline_parallel_microbatch_size");
  if (degrees.pipeline > 1) micro = size ? *size : old ? std::max<std::int64_t>(1, local / *old) : 1;
  d.set("batch.microbatch_size", micro,
        std::string(degrees.pipeline > 1 ? "pipeline_parallel_microbatch_size" : "local_batch_size"));
  if (sequences % (micro * replicas) != 0)
    recipe.problem("training.local_batch_size",
                   std::to_string(sequences) + " sequences are no whole number of microbatches of " +
                       std::to_string(micro) + " on each of " + std::to_string(replicas) + " replicas",
                   "a multiple of " + std::to_string(micro * replicas));
}

void set_training(Recipe& recipe, const Degrees& degrees) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  const auto* converters = o.find({"model.converters", "quantize.converters"});
  const auto words = converters == nullptr ? "" : in_lower_case(converters->text());
  const bool old8 = o.flag({"float8.enable_float8_linear", "float8.enable_float8_linear"});
  if (words.find("mx") != std::string::npos)
    d.set("training.precision", "mxfp8", *converters);
  else if (words.find("nvfp4") != std::string::npos)
    d.set("training.precision", "nvfp4", *converters);
  else if (words.find("float8") != std::string::npos || old8)
    d.set("training.precision", "fp8", old8 ? *o.find("float8.enable_float8_linear") : *converters);
  else
    d.set("training.precision", "bf16", std::string("mixed_precision_param"));
  const RecipeOptions::Names gather{"quantize.linear.float8.enable_fsdp_float8_all_gather",
                                    "float8.enable_fsdp_float8_all_gather"};
  if (const auto* option = o.find(gather);
      option != nullptr && o.flag(gather) && d.value("training.precision") == "fp8")
    d.set("training.low_precision_gather", "true", *option);
  if (o.word("training.dtype").value_or("float32") == "float32") {
    d.set("training.master_weights", "true", std::string("training.dtype: weights are kept in fp32"));
    d.set("training.gradient_reduce", "fp32", std::string("mixed_precision_reduce"));
  }
  if (degrees.pipeline > 1) d.set("training.gradient_precision", "fp32", std::string("training.dtype"));
  const auto optimizer = o.word("optimizer.name").value_or("adamw");
  if (optimizer == "muon" || optimizer == "distmuon")
    d.set("training.optimizer", "muon", *o.find("optimizer.name"));
  else if (optimizer != "adamw" && optimizer != "adam")
    d.leave_out(*o.find("optimizer.name"), "not among AdamW and Muon; adam is written");
  const bool early = o.flag({"optimizer.early_step_in_backward"});
  if (early) d.set("training.optimizer_barrier", "false", *o.find("optimizer.early_step_in_backward"));
  if (o.decimal("training.max_norm").value_or(1.0) > 0 && !early)
    d.set("training.gradient_clipping", "true", std::string("training.max_norm"));
  if (o.flag({"training.enable_cpu_offload"}))
    d.set("training.offload.optimizer", "true", *o.find("training.enable_cpu_offload"));
  if (degrees.pipeline == 1 && o.word("parallelism.fsdp_reshard_after_forward").value_or("default") == "never")
    d.set("communication.regather_weights", "false", *o.find("parallelism.fsdp_reshard_after_forward"));
  const RecipeOptions::Names asynchronous{"parallelism.enable_async_tensor_parallel",
                                          "experimental.enable_async_tensor_parallel"};
  if (o.flag(asynchronous) && degrees.tensor > 1)
    d.set("communication.collective_matmul", "true", *o.find(asynchronous));
  const RecipeOptions::Names compiled{"compile.enable", "training.compile"};
  const bool compile = o.flag(compiled);
  const auto* parts = o.find("compile.components");
  const bool whole = compile && (parts == nullptr || parts->text().find("model") != std::string::npos);
  if (!whole)
    d.set("training.elementwise_traffic", "3",
          std::string("layers are not compiled: eager PyTorch (docs/models/kernels.md)"));
  if (!compile) d.set("training.cross_entropy", "unfused", std::string("the loss is not compiled"));
}

void set_recompute(Recipe& recipe, std::int64_t stages) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  const auto* mode = o.find("activation_checkpoint.mode");
  const auto word = o.word("activation_checkpoint.mode").value_or(mode == nullptr ? "selective" : "none");
  const auto* kind = o.find("activation_checkpoint.selective_ac_option");
  if (word == "full") return d.set("training.recompute", "full", *mode);
  if (word != "selective") {
    if (mode != nullptr && word != "none") d.leave_out(*mode, "not among none, selective and full");
    return;
  }
  const auto every = kind == nullptr ? std::optional<std::int64_t>(2) : whole_number(kind->text());
  const auto because =
      std::string(mode == nullptr ? "torchtitan's default of activation_checkpoint.mode" : "activation_checkpoint");
  if (every) {
    const auto of_stage = recipe.layers / stages;
    if (of_stage / *every > 0) {
      d.set("training.recompute.mode", "full", because);
      if (*every > 1)
        d.set("training.recompute.layers", of_stage / *every, "one of " + std::to_string(*every) + " layers");
    }
    return;
  }
  const auto model = d.value("model");
  const bool dense = model.starts_with("llama-2") || model.starts_with("llama-3") || model == "qwen3-32b" ||
                     (model.starts_with("{") && model.find("moe:") == std::string::npos);
  d.set("training.recompute.mode", "selective", because);
  if (dense)
    d.set("training.recompute.kept",
          "[query projection, value projection, attention, gate projection, down projection]",
          std::string("selective_ac_option op: attention and every other product are kept"));
  else
    d.set("training.recompute.parts", "[norms, activations]",
          std::string("selective_ac_option op, roughly: products are kept"));
}

/// "standard", the default, is an all-to-all of NCCL. Without expert ranks torchtitan takes no notice of the option.
void set_dispatcher(Recipe& recipe) {
  auto& d = recipe.draft;
  const auto* backend = recipe.options.find("parallelism.expert_parallel_comm_backend");
  if (backend == nullptr) return;
  if (recipe.options.number({"parallelism.expert_parallel_degree"}, 1, 1'000'000).value_or(1) == 1)
    return d.leave_out(*backend, "no axis shares out the experts");
  const auto word = backend->text();
  if (word == "standard") return d.set("communication.dispatcher", "nccl", *backend);
  if (word == "deepep" || word == "hybridep") return d.set("communication.dispatcher", word, *backend);
  d.leave_out(*backend, "communication.dispatcher knows nccl (standard), deepep and hybridep");
}

void carry_over(Recipe& recipe) {
  set_model(recipe);
  const auto degrees = set_degrees(recipe);
  set_pipeline(recipe, degrees, recipe.layers);
  set_batch(recipe, degrees);
  set_training(recipe, degrees);
  set_dispatcher(recipe);
  const auto layers = recipe.draft.value("pipeline.layers");
  const auto chunks = layers.empty() ? degrees.pipeline : std::count(layers.begin(), layers.end(), ',') + 1;
  set_recompute(recipe, chunks);
}

constexpr NamedOption without_counterpart[] = {
    {"parallelism.pipeline_parallel_expert_parallel_overlap",
     "a schedule overlaps all-to-alls if it pairs passes (overlap-1f1b, dualpipe-v)"},
    {"parallelism.module_fqns_per_model_part", "pipeline.layout says what stands on each stage"},
    {"parallelism.pipeline_parallel_schedule_csv", "pipeline.schedule takes the CSV file, with pipeline.placement"},
    {"parallelism.disable_loss_parallel", "the unembedding is split over the tensor axis"},
    {"parallelism.context_parallel_load_balancer", "parallel.context_order says it; balanced is the default"},
    {"parallelism.fsdp_reshard_after_forward", "communication.regather_weights says it"},
    {"parallelism.enable_async_tensor_parallel", "without a tensor axis"},
    {"quantize.grouped_mm.*", "experts have the precision of the other products"},
    {"activation_checkpoint.*", "recomputation by torch.compile's budget, or of listed products"},
};
constexpr std::string_view without_influence[] = {"job.*",
                                                  "profiling.*",
                                                  "metrics.*",
                                                  "optimizer.*",
                                                  "lr_scheduler.*",
                                                  "checkpoint.*",
                                                  "validation.*",
                                                  "comm.*",
                                                  "memory_estimation.*",
                                                  "fault_tolerance.*",
                                                  "debug.*",
                                                  "experimental.custom_*",
                                                  "model.hf_assets_path",
                                                  "model.tokenizer_path",
                                                  "model.norm_type",
                                                  "model.print_after_conversion",
                                                  "training.dataset*",
                                                  "training.steps",
                                                  "training.warmup_steps",
                                                  "training.gc_*",
                                                  "training.seed",
                                                  "training.deterministic",
                                                  "training.mixed_precision_*",
                                                  "training.dataloader.*",
                                                  "training.data_parallel_type",
                                                  "quantize.linear.float8.*",
                                                  "quantize.linear.mx.*",
                                                  "float8.*",
                                                  "compile.*",
                                                  "activation_checkpoint.selective_ac_option",
                                                  "activation_checkpoint.early_stop",
                                                  "activation_checkpoint.preserve_rng_state",
                                                  "parallelism.pipeline_parallel_schedule",
                                                  "parallelism.pipeline_parallel_*",
                                                  "experimental.pipeline_parallel_*"};

}  // namespace

const Dialect torchtitan{"torchtitan", "torchtitan's TOML", carry_over, without_counterpart, without_influence};

}  // namespace lockstep::recipes
