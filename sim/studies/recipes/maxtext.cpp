// MaxText's YAML, or the key=value of its command lines. Defaults: src/maxtext/configs/base.yml of
// AI-Hypercomputer/maxtext at e591f30.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/core/quantity_text.hpp"
#include "sim/studies/maxtext_policies.hpp"
#include "sim/studies/recipes/dialects_private.hpp"

namespace lockstep::recipes {
namespace {

class MaxText {
 public:
  explicit MaxText(Recipe& recipe) : recipe_(recipe), o_(recipe.options), d_(recipe.draft) {}

  void write() {
    if (recipe_.has_model)
      pass_over_model(recipe_, [](Recipe& unused) { MaxText(unused).model(); });
    else
      model();
    degrees();
    batch();
    pipeline();
    training();
    local_updates();
    remat();
    collectives_of_xla();
  }

 private:
  std::int64_t size(std::string_view name, std::int64_t otherwise, std::int64_t least = 1) {
    return o_.number(name, least).value_or(otherwise);
  }
  void set_size(const std::string& key, std::string_view name, std::int64_t otherwise, std::int64_t scale = 1) {
    const auto value = o_.number(name);
    if (value && scale == 1)
      d_.set("model." + key, *value, *o_.find(name));
    else
      d_.set("model." + key, value.value_or(otherwise) * scale,
             (value ? std::string(name) : "MaxText's default of " + std::string(name)) +
                 (scale > 1 ? ", global_parameter_scale" : ""));
  }

  void model() {
    const auto* name = o_.find("model_name");
    if (o_.find("base_emb_dim") == nullptr && name != nullptr && name->text() != "default") {
      const auto model = model_called(name->text());
      if (model.empty())
        return o_.problem(*name, in_quotes(name->text()) + " is not a model that Lockstep knows",
                          "--model with a config.json or a name of lockstep list models");
      d_.set("model", model, *name);
      recipe_.layers = layers_of(model);
      return;
    }
    // get_individual_scales of src/maxtext/configs/types.py: heads and MLP double, then the embedding, then the layers.
    const auto scale = o_.number({"global_parameter_scale"}, 1, 1 << 20).value_or(1);
    const auto doublings = static_cast<int>(std::log2(static_cast<double>(scale)));
    const auto power = [](int exponent) { return std::int64_t{1} << exponent; };
    const auto wide = power(doublings / 3 + (doublings % 3 > 0 ? 1 : 0));
    set_size("layers", "base_num_decoder_layers", 16, power(doublings / 3));
    set_size("d_model", "base_emb_dim", 2048, power(doublings / 3 + (doublings % 3 > 1 ? 1 : 0)));
    set_size("d_ff", "base_mlp_dim", 7168, wide);
    set_size("heads", "base_num_query_heads", 16, wide);
    set_size("vocabulary", "vocab_size", 32'000);
    const auto* mlp = o_.find("mlp_activations");
    if (mlp != nullptr && mlp->values.size() == 1 && mlp->text().find(',') == std::string::npos)
      d_.set("model.mlp", "plain", *mlp);
    const bool is_latent = o_.word("attention_type").value_or("global") == "mla";
    if (is_latent) {
      for (const auto& [key, option, otherwise] :
           {std::tuple("kv_rank", "kv_lora_rank", 512), std::tuple("nope_head_size", "qk_nope_head_dim", 128),
            std::tuple("rope_head_size", "qk_rope_head_dim", 64), std::tuple("value_head_size", "v_head_dim", 128)})
        set_size(std::string("latent_attention.") + key, option, otherwise);
      if (size("q_lora_rank", 0, 0) > 0) set_size("latent_attention.q_rank", "q_lora_rank", 0);
      (void)o_.find({"base_num_kv_heads", "head_dim"});
    } else {
      set_size("kv_heads", "base_num_kv_heads", 16, wide);
      set_size("head_size", "head_dim", 128);
    }
    const auto block = o_.word("decoder_block").value_or("llama2");
    if (block == "gpt3") {
      d_.set("model.norm", "layer_norm", *o_.find("decoder_block"));
      for (const auto* key : {"qkv_bias", "attention_output_bias", "mlp_bias"})
        d_.set(std::string("model.") + key, "true", *o_.find("decoder_block"));
      if (o_.number("trainable_position_size")) set_size("learned_positions", "trainable_position_size", 1);
    }
    flag("tied_embeddings", "logits_via_embedding");
    flag("qk_norm", "use_qk_norm");
    flag("qkv_bias", "attention_bias");
    flag("attention_sinks", "attention_sink");
    if (o_.flag({"use_post_attn_norm"}) || o_.flag({"use_post_ffw_norm"}))
      d_.set("model.norms_per_layer", 4, *o_.find({"use_post_attn_norm", "use_post_ffw_norm"}));
    if (size("sliding_window_size", 0, 0) > 0) {
      set_size("window.tokens", "sliding_window_size", 0);
      const auto every = size("inhomogeneous_layer_cycle_interval", block == "gemma3" ? 6 : block == "gemma2" ? 2 : 1);
      if (every > 1)
        d_.set("model.window.full_every", every, std::string("decoder_block, inhomogeneous_layer_cycle_interval"));
    } else if (size("chunk_attn_window_size", 0, 0) > 0) {
      set_size("window.tokens", "chunk_attn_window_size", 0);
      d_.set("model.window.kind", "chunked", *o_.find("chunk_attn_window_size"));
      if (const auto every = size("nope_layer_interval", 0, -1); every > 1)
        d_.set("model.window.full_every", every, *o_.find("nope_layer_interval"));
    }
    experts();
    if (size("mtp_num_layers", 0, 0) > 0) set_size("mtp_modules", "mtp_num_layers", 0);
  }

  void flag(const std::string& key, std::string_view name) {
    if (o_.flag({name})) d_.set("model." + key, "true", *o_.find(name));
  }

  void experts() {
    if (size("num_experts", 1) <= 1) return;
    set_size("moe.experts", "num_experts", 1);
    set_size("moe.experts_per_token", "num_experts_per_tok", 1);
    if (size("base_moe_mlp_dim", -1, -1) > 0)
      set_size("moe.d_ff", "base_moe_mlp_dim", 7168);
    else
      set_size("moe.d_ff", "base_mlp_dim", 7168);
    if (size("shared_experts", 0, 0) > 0) set_size("moe.shared_experts", "shared_experts", 0);
    const auto dense = size("first_num_dense_layers", 0, 0);
    const auto every = size("interleave_moe_layer_step", 1);
    if (dense > 0) set_size("moe.dense_first", "first_num_dense_layers", 0);
    if (every > 1) set_size("moe.every", "interleave_moe_layer_step", 1);
    if (dense == 0 && every == 1) d_.remove("model.d_ff");
    if (o_.flag({"routed_bias"}))
      d_.set(o_.flag({"mlp_bias"}) ? "model.moe.biases" : "model.moe.score_bias", "true", *o_.find("routed_bias"));
    if (size("n_routing_groups", -1, -1) > 1) {
      set_size("moe.groups", "n_routing_groups", 1);
      set_size("moe.groups_per_token", "topk_routing_group", 1);
    }
  }

  /// One axis of Lockstep, made of several of MaxText's, inside a slice or between slices.
  struct Axis {
    std::string_view ours;
    std::array<std::string_view, 3> theirs;
    std::int64_t inside = 1, outside = 1;
  };

  void degrees() {
    std::array<Axis, 6> axes{{{"tensor", {"tensor", "tensor_transpose", "tensor_sequence"}},
                              {"context", {"context", "sequence", "context_usp_ulysses"}},
                              {"expert", {"expert", "", ""}},
                              {"fsdp", {"fsdp", "fsdp_transpose", ""}},
                              {"data", {"data", "diloco", ""}},
                              {"pipeline", {"pipeline", "", ""}}}};
    const auto slices = recipe_.chips / recipe_.chips_a_slice;
    share("ici_", recipe_.chips_a_slice, "fsdp", axes, &Axis::inside);
    share("dcn_", slices, "data", axes, &Axis::outside);
    for (const auto& axis : axes) {
      const auto product = axis.inside * axis.outside;
      const auto key = std::string(axis.ours);
      sizes_[key] = product;
      if (product == 1) continue;
      const auto theirs = std::string(axis.theirs.front());
      const auto inner = "ici_" + theirs + "_parallelism", outer = "dcn_" + theirs + "_parallelism";
      const auto* option = o_.find({inner, outer});
      const auto said = "ici " + std::to_string(axis.inside) + " x dcn " + std::to_string(axis.outside);
      set_axis(recipe_, key, product, slices > 1 || option == nullptr ? said : option->shown + ": " + said);
      if (axis.outside > 1 && axis.inside == 1 && recipe_.has_pods)
        d_.set("mesh." + key, "[pod]", "dcn_" + theirs + "_parallelism");
    }
    if (sizes_["context"] > 1) {
      const auto strategy = o_.word("context_parallel_strategy").value_or("all_gather");
      d_.set("parallel.context_attention",
             strategy == "ring"      ? "ring"
             : strategy == "ulysses" ? "all_to_all"
                                     : "all_gather",
             std::string("context_parallel_strategy"));
    }
  }

  void share(const std::string& prefix, std::int64_t ranks, std::string_view by_default, std::array<Axis, 6>& axes,
             std::int64_t Axis::*part) {
    std::int64_t product = 1;
    Axis* open = nullptr;
    const RecipeOption* last = nullptr;
    for (auto& axis : axes) {
      for (const auto theirs : axis.theirs) {
        if (theirs.empty()) continue;
        const auto name = prefix + std::string(theirs) + "_parallelism";
        const auto* option = o_.find(name);
        const auto value = o_.number({name}, -1, 1'000'000).value_or(theirs == by_default ? -1 : 1);
        if (option != nullptr && value != 1) last = option;
        if (value == -1 && (open == nullptr || option != nullptr))
          open = &axis;
        else if (value > 0)
          axis.*part *= value;
      }
      product *= axis.*part;
    }
    const auto where = prefix == "ici_" ? "chips of a slice" : "slices";
    if (product > ranks || ranks % product != 0 || (open == nullptr && product != ranks)) {
      const auto what = prefix + "*_parallelism make " + std::to_string(product) + " of the machine's " +
                        std::to_string(ranks) + " " + where;
      const auto expected = "a --cluster that they divide, or -1 for what is left";
      return last == nullptr ? recipe_.problem(prefix + "*_parallelism", what, expected)
                             : o_.problem(*last, what, expected);
    }
    if (open != nullptr) open->*part *= ranks / product;
  }

  void batch() {
    const auto* option = o_.find("per_device_batch_size");
    const auto each = o_.decimal("per_device_batch_size").value_or(12);
    const auto steps = size("gradient_accumulation_steps", 1);
    const auto sequences = each * static_cast<double>(recipe_.chips) * static_cast<double>(steps);
    if (!(sequences >= 1) || sequences > 1e9 || sequences != std::floor(sequences)) {
      const auto what =
          exact(each) + " on each of " + std::to_string(recipe_.chips) + " chips are no whole number of sequences";
      return option == nullptr ? recipe_.problem("per_device_batch_size", what, "a whole batch")
                               : o_.problem(*option, what, "a whole batch");
    }
    d_.set("batch.sequences", static_cast<std::int64_t>(sequences),
           "per_device_batch_size " + exact(each) + " x " + std::to_string(recipe_.chips) + " chips" +
               (steps > 1 ? " x gradient_accumulation_steps " + std::to_string(steps) : std::string()));
    const auto length = o_.number("max_target_length");
    if (recipe_.sequence_length)
      d_.set("batch.sequence_length", *recipe_.sequence_length, std::string("--sequence-length"));
    else if (length)
      d_.set("batch.sequence_length", *length, *o_.find("max_target_length"));
    else
      d_.set("batch.sequence_length", 2048, std::string("MaxText's default of max_target_length"));
    auto microbatches = steps;
    if (sizes_["pipeline"] > 1) {
      const auto said = size("num_pipeline_microbatches", -1, -1);
      microbatches *= said > 0 ? said : sizes_["pipeline"];
    }
    if (microbatches > 1)
      d_.set("batch.microbatches", microbatches, std::string("gradient_accumulation_steps, num_pipeline_microbatches"));
    const auto replicas = sizes_["data"] * sizes_["fsdp"] * sizes_["expert"];
    if (static_cast<std::int64_t>(sequences) % (microbatches * replicas) != 0) {
      const auto what = exact(sequences) + " sequences do not divide over " + std::to_string(replicas) +
                        " replicas in " + std::to_string(microbatches) + " microbatches";
      const auto expected = "a larger per_device_batch_size, or more of the tensor and context axes";
      return option == nullptr ? recipe_.problem("per_device_batch_size", what, expected)
                               : o_.problem(*option, what, expected);
    }
  }

  void pipeline() {
    const auto per_stage = o_.number("num_layers_per_pipeline_stage");
    const auto repeats = size("num_pipeline_repeats", -1, -1);
    if (sizes_["pipeline"] <= 1) return;
    const auto layers = whole_number(d_.value("model.layers")).value_or(recipe_.layers);
    const auto chunks = repeats > 0  ? repeats
                        : layers > 0 ? std::max<std::int64_t>(1, layers / sizes_["pipeline"] / per_stage.value_or(1))
                                     : 1;
    d_.set("pipeline.schedule", chunks > 1 ? "breadth-first" : "gpipe",
           std::string("MaxText's circular pipeline runs all microbatches forward first"));
    if (chunks > 1)
      d_.set("pipeline.chunks", chunks, std::string("num_pipeline_repeats, num_layers_per_pipeline_stage"));
  }

  void training() {
    maxtext_formats(recipe_);
    const auto optimizer = o_.word("opt_type").value_or("adamw");
    if (optimizer == "muon" || optimizer == "sgd") d_.set("training.optimizer", optimizer, *o_.find("opt_type"));
    if (o_.decimal("gradient_clipping_threshold").value_or(1) > 0)
      d_.set("training.gradient_clipping", "true", std::string("gradient_clipping_threshold"));
    const auto tiles = o_.number("num_vocab_tiling").value_or(1);
    d_.set(tiles > 1 ? "training.cross_entropy.mode" : "training.cross_entropy", "in place",
           std::string("XLA reads the logits where it needs their exponentials"));
    if (tiles > 1) {
      d_.set("training.cross_entropy.tiles", std::to_string(tiles), *o_.find("num_vocab_tiling"));
      d_.set("training.cross_entropy.logits", "again", *o_.find("num_vocab_tiling"));
    }
    if (o_.flag({"optimizer_memory_host_offload"}))
      d_.set("training.offload.optimizer", "true", *o_.find("optimizer_memory_host_offload"));
    if (o_.word("attention").value_or("") == "dot_product")
      d_.set("training.attention", "unfused", *o_.find("attention"));
    if (o_.boolean({"enable_dropout"}).value_or(true) && o_.decimal("dropout_rate").value_or(0) > 0)
      d_.set("training.dropout", "true", *o_.find("dropout_rate"));
    const auto factor = o_.decimal("capacity_factor").value_or(-1);
    const bool sparse = o_.boolean({"sparse_matmul"}).value_or(true);
    if (factor > 0 && !sparse) {
      d_.set("routing.capacity_factor", exact(factor), *o_.find("capacity_factor"));
      d_.set("routing.slots", "by mask", *o_.find("sparse_matmul"));
    } else if (factor > 0) {
      d_.leave_out(*o_.find("capacity_factor"), "with sparse_matmul no token is dropped");
    }
    if (o_.flag({"shard_optimizer_over_data"}) && sizes_["data"] > 1)
      d_.set("parallel.zero", 1, *o_.find("shard_optimizer_over_data"));
  }

  /// DiLoCo, whose replicas train apart: docs/tutorials/diloco_pretraining.md of MaxText at pull request 4942.
  void local_updates() {
    const auto* enabled = o_.find("enable_diloco");
    const bool streaming = o_.flag({"enable_streaming_diloco"}), in_a_row = o_.flag({"use_sequential_layers"});
    const auto period = size("diloco_sync_period", 36), fragments = size("num_diloco_fragments", 1);
    const auto* overlapping = o_.find("num_communication_overlapping_steps");
    if (!o_.flag({"enable_diloco"}) || sizes_["data"] == 1) return;
    const auto inside = size("ici_diloco_parallelism", 1, -1), outside = size("dcn_diloco_parallelism", 1, -1);
    if (inside > 0 && outside > 0 && inside * outside != sizes_["data"])
      return d_.leave_out(*enabled,
                          "replicas that train apart share axis data with others; with an axis of mesh of "
                          "their own, training.local_updates.axis takes them");
    // Fragments begin max(1, round(H / P)) steps apart, so that the period is P times as long.
    const auto between =
        std::max<std::int64_t>(1, std::llround(static_cast<double>(period) / static_cast<double>(fragments)));
    const auto steps = streaming ? between * fragments : period;
    d_.set("training.local_updates.inner_steps", steps, std::string("diloco_sync_period"));
    if (streaming && fragments > 1) {
      d_.set("training.local_updates.fragments", fragments, *o_.find("num_diloco_fragments"));
      if (in_a_row) d_.set("training.local_updates.fragment_layers", "sequential", *o_.find("use_sequential_layers"));
    }
    if (overlapping != nullptr)
      d_.leave_out(*overlapping,
                   "MaxText's SPMD step waits for reductions all the same; training.local_updates.delay "
                   "lets them run beside steps");
  }

  /// What each policy keeps (src/maxtext/layers/decoders.py); what is offloaded waits on the host.
  void remat() {
    const auto* option = o_.find("remat_policy");
    const auto policy =
        o_.one_of("remat_policy", studies::maxtext_policies).value_or(option == nullptr ? "full" : "none");
    const auto because = option == nullptr ? std::string("MaxText's default of remat_policy")
                                           : "remat_policy, line " + std::to_string(option->where.line);
    const auto has = [&](std::string_view word) { return policy.find(word) != std::string::npos; };
    const auto parts = [&](const std::string& list) {
      d_.set("training.recompute.mode", "selective", because);
      d_.set("training.recompute.parts", list, because);
    };
    if (has("offload")) d_.set("training.offload.activation_layers", std::max<std::int64_t>(1, of_stage()), because);
    if (has("except_mlp") && has_experts()) {
      parts(std::string(has("context") ? "[" : "[core_attention, ") + "norms, activations, mlp, experts]");
    } else if (has("except_mlp")) {
      // A norm reads what the down projection makes where each layer has four.
      const bool norm_after_mlp = d_.has("model.norms_per_layer") || d_.value("model").starts_with("gemma");
      d_.set("training.recompute.mode", "selective", because);
      d_.set("training.recompute.kept",
             "[query projection, key projection, value projection, attention output" +
                 std::string(norm_after_mlp ? "" : ", down projection") + (has("context") ? ", attention]" : "]"),
             because);
    } else if (has("minimal") || policy.starts_with("save_dot"))
      parts("[norms, activations]");
    else if (has("qkv_proj") || has("save_qkv") || has("out_proj") || policy == "proj")
      parts("[core_attention, norms, activations, mlp" + std::string(has_experts() ? ", experts]" : "]"));
    else if (policy != "none")
      d_.set("training.recompute", "full", because);
    if (policy == "custom") d_.leave_out(*option, "training.recompute.kept names operations; full is written");
  }
  /// What XLA's scheduler hides on GPUs without a profile of the step (docs/validation.md, Steps that XLA compiles).
  void collectives_of_xla() {
    const auto* hardware = o_.find("hardware");
    const bool loop = o_.boolean({"scan_layers"}).value_or(true);
    if (hardware == nullptr || !hardware->text().starts_with("gpu")) return;
    const std::string on_gpus = "hardware, line " + std::to_string(hardware->where.line) + ": XLA without a profile";
    if (!loop)
      return d_.set("communication.gradient_buckets", "1 TB",
                    on_gpus + " reduces after the last backward; all gradients are held until then");
    d_.set("communication.prefetch", "0", on_gpus + " hides nothing beyond an iteration of scan_layers");
    d_.set("communication.reductions_in_flight", "0", on_gpus + ", the same");
  }
  std::int64_t of_stage() {
    const auto layers = whole_number(d_.value("model.layers")).value_or(recipe_.layers);
    return layers / std::max<std::int64_t>(1, sizes_["pipeline"]);
  }
  bool has_experts() {
    const auto model = d_.value("model");
    return d_.has("model.moe.experts") || model.find("moe") != std::string::npos || model.find("mixtral") == 0 ||
           model.find("deepseek") == 0 || model.find("gpt-oss") == 0 || model.find("-a") != std::string::npos;
  }

  Recipe& recipe_;
  RecipeOptions& o_;
  ScenarioDraft& d_;
  std::map<std::string, std::int64_t> sizes_;  ///< of the axes
};

}  // namespace

void carry_over_maxtext(Recipe& recipe) { MaxText(recipe).write(); }

}  // namespace lockstep::recipes
