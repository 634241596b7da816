/// Readers of model_types with grouped-query attention and experts.
#include <algorithm>
#include <array>

#include "workloads/model/huggingface/import_hf_private.hpp"

namespace lockstep::workloads {
namespace {

/// Experts whose number per token stands under `chosen`.
void take_experts(const HfConfig& config, const Experts& experts, std::string_view chosen, Model& model) {
  check_experts(experts, config.text()[chosen], config.text()["n_group"], config.text()["topk_group"]);
  model.experts = experts;
}

void experts_everywhere(Model& model) {
  spread_experts([](std::int64_t) { return true; }, model);
}

bool holds(const std::vector<std::int64_t>& list, std::int64_t layer) {
  return std::find(list.begin(), list.end(), layer) != list.end();
}

/// The numbers of a list of layers lie below the number of layers.
std::vector<std::int64_t> layer_list(const HfConfig& config, std::string_view key, const Model& model) {
  std::vector<std::int64_t> list = config.list(key);
  for (const std::int64_t layer : list) {
    if (layer < model.layers || model.layers == 0) continue;
    config.text()[key].problem("layer " + std::to_string(layer) + " of " + std::to_string(model.layers),
                               "layers counted from 0");
    break;
  }
  return list;
}

Model read_mixtral(const HfConfig& config) {
  Model model = read_shape(config, {.kv_heads = 8});
  Experts experts;
  experts.count = config.size_or("num_local_experts", 8);
  experts.per_token = config.size_or("num_experts_per_tok", 2);
  experts.width = config.size("intermediate_size");
  experts_everywhere(model);
  take_experts(config, experts, "num_experts_per_tok", model);
  const bool no_window = config.is_null("sliding_window");
  read_windows(config, {AttentionReach::sliding, no_window ? 0 : config.size_or("sliding_window", 0)}, model);
  return model;
}

/// Experts in every decoder_sparse_step-th layer, counted from 1, but in none of mlp_only_layers.
void place_qwen_experts(const HfConfig& config, Model& model) {
  const std::int64_t step = config.size_or("decoder_sparse_step", 1);
  const std::vector<std::int64_t> dense = layer_list(config, "mlp_only_layers", model);
  spread_experts([&](std::int64_t layer) { return !holds(dense, layer) && (layer + 1) % step == 0; }, model);
  if (has_dense_layer(model)) model.d_ff = config.size("intermediate_size");
}

void read_qwen_moe_windows(const HfConfig& config, Model& model) {
  WindowRule rule{AttentionReach::sliding, 0};
  if (config.flag_or("use_sliding_window", false)) {
    rule.span = config.is_null("sliding_window") ? 0 : config.size_or("sliding_window", 4096);
  }
  rule.full_first = config.size_or("max_window_layers", 28, 0);
  read_windows(config, rule, model);
}

/// One shared expert behind a gate of its own; biases of Q, K and V that need no key.
Model read_qwen2_moe(const HfConfig& config) {
  Model model = read_shape(config, {.kv_heads = 16});
  model.qkv_bias = config.flag_or("qkv_bias", true);
  Experts experts;
  experts.count = config.size_or("num_experts", 60);
  experts.per_token = config.size_or("num_experts_per_tok", 4);
  experts.width = config.size_or("moe_intermediate_size", 1408);
  experts.shared = 1;
  experts.shared_width = config.size_or("shared_expert_intermediate_size", 5632);
  experts.shared_gate = true;
  place_qwen_experts(config, model);
  take_experts(config, experts, "num_experts_per_tok", model);
  read_qwen_moe_windows(config, model);
  return model;
}

Model read_qwen3_moe(const HfConfig& config) {
  Model model = read_shape(config, {.kv_heads = 4});
  read_attention_bias(config, false, model);
  model.qk_norm = QkNorm::per_head;
  Experts experts;
  experts.count = config.size_or("num_experts", 128);
  experts.per_token = config.size_or("num_experts_per_tok", 8);
  experts.width = config.size_or("moe_intermediate_size", 768);
  place_qwen_experts(config, model);
  take_experts(config, experts, "num_experts_per_tok", model);
  read_qwen_moe_windows(config, model);
  return model;
}

Model read_olmoe(const HfConfig& config) {
  Model model = read_shape(config, {});
  read_attention_bias(config, false, model);
  model.qk_norm = QkNorm::full_width;
  Experts experts;
  experts.count = config.size_or("num_experts", 64);
  experts.per_token = config.size_or("num_experts_per_tok", 8);
  experts.width = config.size_or("intermediate_size", 2048);
  experts_everywhere(model);
  take_experts(config, experts, "num_experts_per_tok", model);
  return model;
}

/// Biases everywhere, sinks beside the scores, a window in every other layer.
Model read_gpt_oss(const HfConfig& config) {
  Model model = read_shape(config, {.kv_heads = 8, .head_size = 64});
  read_attention_bias(config, true, model);
  model.attention_sinks = true;
  Experts experts;
  experts.count = config.size_or("num_local_experts", 128);
  experts.per_token = config.size_or({"num_experts_per_tok", "experts_per_token"}, 4);
  experts.width = config.size("intermediate_size");
  experts.biases = true;
  experts_everywhere(model);
  take_experts(config, experts, config.given("num_experts_per_tok") ? "num_experts_per_tok" : "experts_per_token",
               model);
  const std::int64_t window = config.is_null("sliding_window") ? 0 : config.size_or("sliding_window", 128);
  read_windows(config, {AttentionReach::sliding, window, 2}, model);
  return model;
}

/// Sizes stand in two maps inside; layer norms without bias.
Model read_dbrx(const HfConfig& config) {
  const HfConfig attention = config.part("attn_config");
  const HfConfig mlp = config.part("ffn_config");
  Model model;
  model.layers = config.size("n_layers", most_layers);
  model.d_model = config.size("d_model");
  model.heads = config.size("n_heads");
  model.kv_heads = attention.size_or("kv_n_heads", 1);
  if (config.given("num_key_value_heads") && config.size("num_key_value_heads") != model.kv_heads) {
    config.text()["num_key_value_heads"].problem("attn_config.kv_n_heads is " + std::to_string(model.kv_heads),
                                                 "the same number twice");
  }
  model.vocabulary = config.size("vocab_size");
  model.tied_embeddings = config.flag_or("tie_word_embeddings", false);
  model.norm = NormKind::layer_norm_no_bias;
  Experts experts;
  experts.count = mlp.size_or("moe_num_experts", 4);
  experts.per_token = mlp.size_or("moe_top_k", 1);
  experts.width = mlp.size_or("ffn_hidden_size", 3584);
  experts_everywhere(model);
  take_experts(mlp, experts, "moe_top_k", model);
  return model;
}

/// Chunked attention but in layers without rotary positions: every fourth, or those listed as 0.
void read_llama4_chunks(const HfConfig& config, Model& model) {
  WindowRule rule{AttentionReach::chunked, 0};
  rule.span = config.is_null("attention_chunk_size") ? 0 : config.size_or("attention_chunk_size", 8192);
  rule.full_every = config.size_or("no_rope_layer_interval", 4);
  read_windows(config, rule, model);
  const std::vector<std::int64_t> rotary = config.list("no_rope_layers");
  if (rotary.empty() || config.given("layer_types") || rule.span == 0 || model.layers == 0) return;
  if (static_cast<std::int64_t>(rotary.size()) != model.layers) {
    config.text()["no_rope_layers"].problem(
        std::to_string(rotary.size()) + " entries for " + std::to_string(model.layers) + " layers",
        "one for each layer");
    return;
  }
  for (std::size_t i = 0; i < rotary.size(); ++i) {
    LayerKind& kind = model.layer_kinds[i];
    kind.reach = rotary[i] == 0 ? AttentionReach::full : AttentionReach::chunked;
    kind.span = rotary[i] == 0 ? 0 : rule.span;
  }
}

/// intermediate_size is the experts' width and intermediate_size_mlp the dense one; one more expert for all.
Model read_llama4_text(const HfConfig& config) {
  Model model = read_shape(config, {.head_size = 128});
  // Sources differ about the class default, and every file has the key.
  if (!config.text()["num_key_value_heads"].exists()) (void)config.size("num_key_value_heads");
  read_attention_bias(config, false, model);
  Experts experts;
  experts.count = config.size_or("num_local_experts", 16);
  experts.per_token = config.size_or("num_experts_per_tok", 1);
  experts.width = config.size_or("intermediate_size", 8192);
  experts.shared = 1;
  experts.shared_width = experts.width;
  const std::int64_t step = config.size_or("interleave_moe_layer_step", 1);
  const bool listed = config.given("moe_layers");
  const std::vector<std::int64_t> layers = layer_list(config, "moe_layers", model);
  spread_experts([&](std::int64_t layer) { return listed ? holds(layers, layer) : (layer + 1) % step == 0; }, model);
  if (has_dense_layer(model)) model.d_ff = config.size_or("intermediate_size_mlp", 16'384);
  take_experts(config, experts, "num_experts_per_tok", model);
  read_llama4_chunks(config, model);
  return model;
}

/// Sigmoid scores with a balancing bias; multi-token prediction is named but not part of the checkpoint.
Model read_minimax_m2(const HfConfig& config) {
  Model model = read_shape(config, {.kv_heads = 8, .head_size = 128});
  if (config.flag_or("use_qk_norm", true)) {
    const YamlView kind = config.text()["qk_norm_type"];
    const bool per_head = kind.exists() && !kind.is_null() && kind.choice({"per_layer", "per_head"}) == 1;
    model.qk_norm = per_head ? QkNorm::per_head : QkNorm::full_width;
  }
  for (const std::int64_t full : config.list("attn_type_list")) {
    if (full != 0) continue;
    config.text()["attn_type_list"].problem("linear attention is not modelled", "1 for every layer");
    break;
  }
  Experts experts;
  experts.count = config.size("num_local_experts");
  experts.per_token = config.size("num_experts_per_tok");
  experts.width = config.size("intermediate_size");
  experts.score_bias = config.flag_or("use_routing_bias", false);
  experts_everywhere(model);
  take_experts(config, experts, "num_experts_per_tok", model);
  return model;
}

/// Four norms a layer and gated experts, although the activation is a gelu.
Model read_grok(const HfConfig& config) {
  Model model = read_shape(config, {.tied = true});
  model.norms_per_layer = 4;
  Experts experts;
  experts.count = config.size({"num_local_experts", "num_experts"});
  experts.per_token = config.size_or("num_experts_per_tok", 2);
  experts.width = config.size("intermediate_size");
  experts_everywhere(model);
  take_experts(config, experts, "num_experts_per_tok", model);
  return model;
}

constexpr std::array readers = {
    ModelTypeReader{"dbrx", read_dbrx},
    ModelTypeReader{"gpt_oss", read_gpt_oss},
    ModelTypeReader{"grok", read_grok},
    ModelTypeReader{"grok-1", read_grok},
    ModelTypeReader{"llama4_text", read_llama4_text},
    ModelTypeReader{"minimax_m2", read_minimax_m2},
    ModelTypeReader{"mixtral", read_mixtral},
    ModelTypeReader{"olmoe", read_olmoe},
    ModelTypeReader{"qwen2_moe", read_qwen2_moe},
    ModelTypeReader{"qwen3_moe", read_qwen3_moe},
};

}  // namespace

std::span<const ModelTypeReader> expert_readers() { return readers; }

}  // namespace lockstep::workloads
