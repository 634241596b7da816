// DeepSpeed's JSON (docs/_pages/config-json.md of deepspeedai/DeepSpeed). It says nothing about the model, and a value
// of "auto" leaves the choice to the trainer around it.
#include <algorithm>

#include "sim/studies/recipes/dialects_private.hpp"

namespace lockstep::recipes {
namespace {

struct Degrees {
  std::int64_t tensor = 1, context = 1, pipeline = 1, data = 1;
};

Degrees set_degrees(Recipe& recipe) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  Degrees degrees;
  const RecipeOptions::Names tensor{"tensor_parallel.autotp_size", "tensor_parallel.tp_size",
                                    "tensor_parallel.tp.tp_size"};
  const RecipeOptions::Names context{"sequence_parallel_size"};
  const RecipeOptions::Names pipeline{"pipeline.stages"};
  degrees.tensor = o.number(tensor, 1, 1'000'000).value_or(1);
  degrees.context = o.number(context, 1, 1'000'000).value_or(1);
  degrees.pipeline = o.number(pipeline, 1, 1'000'000).value_or(1);
  if (degrees.tensor > 1) {
    set_axis(recipe, "tensor", degrees.tensor, *o.find(tensor));
    d.set("parallel.sequence_parallel", "false", std::string("AutoTP keeps activations whole"));
  }
  if (degrees.context > 1) {
    set_axis(recipe, "context", degrees.context, *o.find(context));
    d.set("parallel.context_attention", "all_to_all", std::string("DeepSpeed-Ulysses splits heads"));
  }
  if (degrees.pipeline > 1) set_axis(recipe, "pipeline", degrees.pipeline, *o.find(pipeline));
  const auto said = "tensor " + std::to_string(degrees.tensor) + " x sequence " + std::to_string(degrees.context) +
                    " x pipeline " + std::to_string(degrees.pipeline);
  const auto* because = o.find(tensor) != nullptr    ? o.find(tensor)
                        : o.find(context) != nullptr ? o.find(context)
                                                     : o.find(pipeline);
  degrees.data = replicas_of(recipe, degrees.tensor * degrees.context * degrees.pipeline, because, said);
  return degrees;
}

/// Stages of ZeRO, and the groups inside of which MiCS splits.
void set_zero(Recipe& recipe, const Degrees& degrees) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  const auto stage = o.number("zero_optimization.stage", 0).value_or(0);
  const auto* option = o.find("zero_optimization.stage");
  const auto because = std::to_string(recipe.chips) + " chips without those of tensor, sequence and pipeline";
  if (stage > 3) return o.problem(*option, "there is no stage " + std::to_string(stage), "0 to 3");
  const auto inside = o.number("zero_optimization.mics_shard_size", -1).value_or(-1);
  if (inside > 0 && stage == 3) {
    const auto& mics = *o.find("zero_optimization.mics_shard_size");
    if (degrees.data % inside != 0)
      return o.problem(mics, std::to_string(inside) + " ranks do not divide " + std::to_string(degrees.data),
                       "a divisor");
    set_axis(recipe, "fsdp", inside, mics);
    set_axis(recipe, "data", degrees.data / inside, mics);
  } else {
    set_axis(recipe, stage == 3 ? "fsdp" : "data", degrees.data, because);
    if (stage > 0 && stage < 3) d.set("parallel.zero", stage, *option);
  }
  if (degrees.context > 1 && stage == 3)
    d.set("parallel.zero.context", 3, std::string("ZeRO splits over sequence ranks too"));
  const auto bucket = o.decimal("zero_optimization.reduce_bucket_size");
  if (bucket && *bucket >= 1 && *bucket < 1e15 && stage > 0)
    d.set("communication.gradient_buckets", std::to_string(static_cast<std::int64_t>(*bucket) * 2) + " B",
          *o.find("zero_optimization.reduce_bucket_size"));
  if (stage < 3 && o.boolean({"zero_optimization.overlap_comm"}) == false)
    d.set("communication.gradient_buckets", "1 TB", *o.find("zero_optimization.overlap_comm"));
  const auto device = o.word("zero_optimization.offload_optimizer.device").value_or("none");
  if (device == "cpu" || device == "nvme" || o.flag({"zero_optimization.cpu_offload"})) {
    const auto& where = *o.find({"zero_optimization.offload_optimizer.device", "zero_optimization.cpu_offload"});
    d.set("training.offload.optimizer", "true", where);
    if (device == "nvme") d.leave_out(where, "the optimizer's state lies in the host's memory, not on a drive");
  }
}

/// Two of batch, microbatch and number of microbatches make the third.
void set_batch(Recipe& recipe, std::int64_t replicas) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  const auto count = [&](std::string_view name) { return o.number({name}, 1, 1'000'000'000); };
  auto batch = count("train_batch_size"), micro = count("train_micro_batch_size_per_gpu");
  const auto steps = count("gradient_accumulation_steps");
  const auto* said = o.find("train_batch_size");
  if (batch && micro && steps && *micro * *steps * replicas != *batch)
    return o.problem(*said,
                     std::to_string(*batch) + " sequences are not " + std::to_string(*micro) + " x " +
                         std::to_string(*steps) + " microbatches on each of " + std::to_string(replicas) + " replicas",
                     std::to_string(*micro * *steps * replicas) + ", or a machine with other chips");
  if (!batch && micro) batch = *micro * steps.value_or(1) * replicas;
  if (!micro && batch) micro = std::max<std::int64_t>(1, *batch / steps.value_or(1) / replicas);
  if (!batch)
    return recipe.problem("batch.sequences", "the recipe leaves the batch to its trainer",
                          "--set batch.sequences=N --set batch.microbatch_size=N");
  if (*batch % (*micro * replicas) != 0)
    return o.problem(said != nullptr ? *said : *o.find("train_micro_batch_size_per_gpu"),
                     std::to_string(*batch) + " sequences are no whole number of microbatches of " +
                         std::to_string(*micro) + " on each of " + std::to_string(replicas) + " replicas",
                     "a multiple of " + std::to_string(*micro * replicas) + ", or a machine with other chips");
  if (said != nullptr && count("train_batch_size"))
    d.set("batch.sequences", *batch, *said);
  else
    d.set("batch.sequences", *batch, "microbatches of all of " + std::to_string(replicas) + " replicas");
  const auto* each = o.find("train_micro_batch_size_per_gpu");
  if (each != nullptr && count("train_micro_batch_size_per_gpu"))
    d.set("batch.microbatch_size", *micro, *each);
  else
    d.set("batch.microbatch_size", *micro, std::string("train_batch_size / gradient_accumulation_steps / replicas"));
}

void set_training(Recipe& recipe) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  const RecipeOptions::Names bf16{"bf16.enabled", "bfloat16.enabled"};
  if (const auto* option = o.find("fp16.enabled"); option != nullptr && o.flag("fp16.enabled")) {
    d.set("training.precision", "fp16", *option);
  } else if (o.flag(bf16)) {
    d.set("training.precision", "bf16", *o.find(bf16));
  } else {
    const bool is_auto = o.find(bf16) != nullptr || o.find("fp16.enabled") != nullptr;
    d.set("training.precision", "bf16",
          std::string(is_auto ? "the recipe leaves the precision to its trainer"
                              : "neither bf16 nor fp16: products in fp32 have no counterpart"));
  }
  d.set("training.master_weights", "true", std::string("DeepSpeed's optimizer keeps fp32 weights"));
  const auto words = [&](std::string_view name, const std::string& key) {
    const auto word = o.word(name).value_or("");
    if (word == "fp32") d.set(key, "fp32", *o.find(name));
    if (word == "bf16" || word == "bfp16" || word == "fp16") d.set(key, "bf16", *o.find(name));
  };
  words("data_types.grad_accum_dtype", "training.gradient_precision");
  words("communication_data_type", "training.gradient_reduce");
  const auto* optimizer = o.find("optimizer.type");
  const auto name = o.word("optimizer.type").value_or("adam");
  if (name == "muon") {
    d.set("training.optimizer", "muon", *optimizer);
  } else if (name == "sgd") {
    d.set("training.optimizer", "sgd", *optimizer);
  } else if (optimizer != nullptr) {
    d.set("training.optimizer", "adam", *optimizer);
    if (name != "adam" && name != "adamw" && name != "fusedadam" && name != "cpuadam")
      d.leave_out(*optimizer, "not among Adam, SGD and Muon; adam is written");
  }
  const auto clip = o.decimal("gradient_clipping");
  if (clip.value_or(0) > 0) d.set("training.gradient_clipping", "true", *o.find("gradient_clipping"));
}

void carry_over(Recipe& recipe) {
  if (!recipe.has_model)
    recipe.problem("--model", "is missing: DeepSpeed's JSON says nothing about the model",
                   "a config.json or a name of lockstep list models");
  if (recipe.sequence_length)
    recipe.draft.set("batch.sequence_length", *recipe.sequence_length, std::string("--sequence-length"));
  else
    recipe.problem("--sequence-length", "is missing: DeepSpeed's JSON says nothing about sequences",
                   "the tokens of a sequence");
  const auto degrees = set_degrees(recipe);
  set_zero(recipe, degrees);
  set_batch(recipe, degrees.data);
  set_training(recipe);
}

constexpr NamedOption without_counterpart[] = {
    {"zero_optimization.offload_param.*", "weights stay on the chip; training.offload moves state and activations"},
    {"zero_optimization.zero_hpz_partition_size",
     "parallel.zero by axis splits weights inside of nodes, without a second copy"},
    {"zero_optimization.zero_quantized_*", "weights and gradients are gathered and reduced in 16 bits"},
    {"zero_optimization.zenflow.*", "the whole update waits for the step"},
    {"zero_optimization.super_offload*", "the host updates all weights or none"},
    {"zero_optimization.stage3_max_live_parameters",
     "communication.prefetch says how many blocks ahead weights are gathered"},
    {"zero_optimization.stage3_max_reuse_distance",
     "communication.regather_weights says whether gathered weights are kept"},
    {"zero_optimization.stage3_prefetch_bucket_size", "communication.prefetch counts blocks, not elements"},
    {"zero_optimization.prefetch_bucket_size", "communication.prefetch counts blocks, not elements"},
    {"zero_optimization.stage3_param_persistence_threshold", "small weights are split as large ones"},
    {"zero_optimization.param_persistence_threshold", "small weights are split as large ones"},
    {"zero_optimization.allgather_bucket_size", "communication.weight_buckets says layer or matrix"},
    {"zero_optimization.reduce_bucket_size", "it counts with ZeRO"},
    {"zero_optimization.mics_*", "it counts with stage 3"},
    {"activation_checkpointing.*", "the model's code says what is recomputed: --set training.recompute=full"},
    {"compile.*", "kernels count as fused; training.elementwise_traffic says how much more eager ones move"},
    {"sparse_attention.*", "model.window says which tokens attention sees"},
    {"data_efficiency.*", "sequences have one length and pass all layers"},
    {"curriculum_learning.*", "sequences have one length"},
    {"progressive_layer_drop.*", "every token passes all layers"},
    {"compression_training.*", "weights are whole"},
    {"amp.*", "bf16 and fp16 say the precision"},
    {"optimizer.params.freeze_step", "gradients are reduced whole in every step"},
    {"optimizer.params.comm_backend_name", "gradients are reduced whole in every step"},
    {"tensor_parallel.*", "AutoTP splits every layer alike"},
    {"pipeline.*", "stages hold as many layers each; pipeline.layers says otherwise"},
    {"use_data_before_expert_parallel_", "the order of axes on the machine: mesh"},
};
constexpr std::string_view without_influence[] = {"steps_per_print",
                                                  "wall_clock_breakdown",
                                                  "dump_state",
                                                  "optimizer.params.*",
                                                  "optimizer.*",
                                                  "scheduler.*",
                                                  "fp16.*",
                                                  "bf16.*",
                                                  "bfloat16.*",
                                                  "zero_optimization.stage3_gather_*",
                                                  "zero_optimization.gather_16bit_*",
                                                  "zero_optimization.contiguous_gradients",
                                                  "zero_optimization.reduce_scatter",
                                                  "zero_optimization.allgather_partitions",
                                                  "zero_optimization.round_robin_gradients",
                                                  "zero_optimization.sub_group_size",
                                                  "zero_optimization.overlap_comm",
                                                  "zero_optimization.offload_optimizer.*",
                                                  "zero_optimization.memory_efficient_linear",
                                                  "zero_optimization.load_from_*",
                                                  "zero_optimization.elastic_checkpoint",
                                                  "zero_optimization.ignore_unused_parameters",
                                                  "zero_optimization.cpu_offload*",
                                                  "zero_allow_untested_optimizer",
                                                  "zero_force_ds_cpu_optimizer",
                                                  "prescale_gradients",
                                                  "gradient_predivide_factor",
                                                  "tensorboard.*",
                                                  "wandb.*",
                                                  "csv_monitor.*",
                                                  "comet.*",
                                                  "flops_profiler.*",
                                                  "comms_logger.*",
                                                  "monitor_config.*",
                                                  "autotuning.*",
                                                  "elasticity.*",
                                                  "checkpoint.*",
                                                  "aio.*",
                                                  "data_types.*",
                                                  "communication_data_type",
                                                  "seed",
                                                  "seq_parallel_communication_data_type",
                                                  "disable_allgather",
                                                  "sparse_gradients",
                                                  "memory_breakdown",
                                                  "timers.*",
                                                  "gradient_accumulation_steps",
                                                  "gradient_clipping",
                                                  "comment*",
                                                  "_comment*",
                                                  "nebula.*",
                                                  "hybrid_engine.*"};

}  // namespace

const Dialect deepspeed{"deepspeed", "DeepSpeed's JSON", carry_over, without_counterpart, without_influence};

}  // namespace lockstep::recipes
