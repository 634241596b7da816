/// Readers of model_types without experts.
#include <algorithm>
#include <array>

#include "workloads/model/huggingface/import_hf_private.hpp"

namespace lockstep::workloads {
namespace {

Model read_llama(const HfConfig& config) {
  Model model = read_dense_shape(config, {});
  read_attention_bias(config, false, model);
  model.mlp_bias = config.flag_or("mlp_bias", false);
  return model;
}

/// The window under its key: an explicit null is no window, an absent key the type's.
std::int64_t window_or(const HfConfig& config, std::int64_t absent) {
  return config.is_null("sliding_window") ? 0 : config.size_or("sliding_window", absent);
}

Model read_mistral(const HfConfig& config) {
  Model model = read_dense_shape(config, {.kv_heads = 8});
  read_windows(config, {AttentionReach::sliding, window_or(config, 4096)}, model);
  return model;
}

/// Files name a window that only holds with use_sliding_window, and only from one layer on.
void read_qwen_windows(const HfConfig& config, std::int64_t absent_first, Model& model) {
  WindowRule rule{AttentionReach::sliding, window_or(config, 4096)};
  rule.full_first = config.size_or("max_window_layers", absent_first, 0);
  if (!config.flag_or("use_sliding_window", false)) rule.span = 0;
  read_windows(config, rule, model);
}

/// Q, K and V carry a bias although no key says so.
Model read_qwen2(const HfConfig& config) {
  Model model = read_dense_shape(config, {.kv_heads = 32});
  model.qkv_bias = true;
  read_qwen_windows(config, 28, model);
  return model;
}

Model read_qwen3(const HfConfig& config) {
  Model model = read_dense_shape(config, {.kv_heads = 32, .head_size = 128});
  read_attention_bias(config, false, model);
  model.qk_norm = QkNorm::per_head;
  read_qwen_windows(config, 28, model);
  return model;
}

/// Gated, although its hidden_act is a gelu.
Model read_gemma(const HfConfig& config) {
  Model model = read_dense_shape(config, {.kv_heads = 16, .head_size = 256, .tied = true});
  read_attention_bias(config, false, model);
  return model;
}

/// Norms before and after both the attention and the MLP; every other layer has a window.
Model read_gemma2(const HfConfig& config) {
  Model model = read_dense_shape(config, {.kv_heads = 4, .head_size = 256, .tied = true});
  read_attention_bias(config, false, model);
  model.norms_per_layer = 4;
  read_windows(config, {AttentionReach::sliding, window_or(config, 4096), 2}, model);
  return model;
}

/// Published files leave most keys to the class, even the vocabulary.
Model read_gemma3_text(const HfConfig& config) {
  Model model = read_dense_shape(config, {.kv_heads = 4, .head_size = 256, .vocabulary = 262'208, .tied = true});
  read_attention_bias(config, false, model);
  model.norms_per_layer = 4;
  model.qk_norm = QkNorm::per_head;
  const std::int64_t full_every = config.size_or({"sliding_window_pattern", "_sliding_window_pattern"}, 6);
  read_windows(config, {AttentionReach::sliding, window_or(config, 4096), full_every}, model);
  return model;
}

/// Layers that see all tokens have larger heads, fewer of keys, and keys as values. The small models' parts beside that
/// are not modelled.
Model read_gemma4_text(const HfConfig& config) {
  Model model = read_dense_shape(config, {.kv_heads = 4, .head_size = 256, .vocabulary = 262'144, .tied = true});
  read_attention_bias(config, false, model);
  model.norms_per_layer = 4;
  model.qk_norm = QkNorm::per_head;
  for (const char* key : {"enable_moe_block", "use_double_wide_mlp"}) {
    if (config.flag_or(key, false)) config.text()[key].problem("this part of Gemma 4 is not modelled", "false");
  }
  for (const char* key : {"hidden_size_per_layer_input", "num_kv_shared_layers"}) {
    if (config.size_or(key, 0, 0) > 0) config.text()[key].problem("this part of Gemma 4 is not modelled", "0");
  }
  const bool shared = config.flag_or("attention_k_eq_v", false);
  const FullHeads heads{
      .kv_heads = shared ? config.size_or("num_global_key_value_heads", model.kv_heads) : model.kv_heads,
      .head_size = config.size_or("global_head_dim", 512),
      .values_are_keys = shared};
  if (heads.kv_heads != model.kv_heads || heads.head_size != model.head_size || shared) model.full_heads = heads;
  read_windows(config, {AttentionReach::sliding, window_or(config, 512), 6}, model);
  return model;
}

/// The fused gate_up and qkv matrices hold as many weights as separate ones.
Model read_phi3(const HfConfig& config) {
  Model model = read_dense_shape(config, {});
  read_windows(config, {AttentionReach::sliding, window_or(config, 0)}, model);
  return model;
}

/// Norms without weights.
Model read_olmo(const HfConfig& config) {
  Model model = read_dense_shape(config, {});
  read_attention_bias(config, false, model);
  model.norm = NormKind::none;
  return model;
}

/// Norms after attention and MLP, and of the whole width of queries and keys.
Model read_olmo2(const HfConfig& config) {
  Model model = read_dense_shape(config, {});
  read_attention_bias(config, false, model);
  model.qk_norm = QkNorm::full_width;
  return model;
}

Model read_gpt_neox(const HfConfig& config) {
  Model model = read_dense_shape(config, {});
  read_attention_bias(config, true, model);
  model.gated = false;
  model.mlp_bias = true;
  model.norm = NormKind::layer_norm;
  model.parallel_residual = config.flag_or("use_parallel_residual", true);
  return model;
}

Model read_gpt2(const HfConfig& config) {
  Model model;
  model.layers = config.size({"n_layer", "num_hidden_layers"}, most_layers);
  model.d_model = config.size({"n_embd", "hidden_size"});
  model.d_ff = config.size_or("n_inner", 4 * model.d_model);
  model.heads = config.size({"n_head", "num_attention_heads"});
  model.vocabulary = config.size("vocab_size");
  model.learned_positions = config.size({"n_positions", "max_position_embeddings"});
  model.tied_embeddings = config.flag_or("tie_word_embeddings", true);
  model.gated = false;
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = true;
  model.norm = NormKind::layer_norm;
  if (config.flag_or("add_cross_attention", false)) {
    config.text()["add_cross_attention"].problem("cross-attention is not modelled", "a decoder without it");
  }
  return model;
}

/// Key-value heads of the two architectures; the new one ignores multi_query.
std::int64_t falcon_kv_heads(const HfConfig& config, bool new_architecture, std::int64_t heads) {
  if (new_architecture) return config.size_or({"num_kv_heads", "n_head_kv"}, heads);
  return config.flag_or("multi_query", true) ? 1 : heads;
}

/// Attention and MLP beside each other share one norm in the old architecture and have one each in the new.
Model read_falcon(const HfConfig& config) {
  const bool new_architecture = config.flag_or("new_decoder_architecture", false);
  Model model;
  model.layers = config.size({"num_hidden_layers", "n_layer"}, most_layers);
  model.d_model = config.size({"hidden_size", "n_embed"});
  model.heads = config.size({"num_attention_heads", "n_head"});
  model.kv_heads = falcon_kv_heads(config, new_architecture, model.heads);
  model.d_ff = config.size_or("ffn_hidden_size", 4 * model.d_model);
  model.vocabulary = config.size("vocab_size");
  model.tied_embeddings = config.flag_or("tie_word_embeddings", true);
  model.gated = false;
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = config.flag_or("bias", false);
  model.norm = NormKind::layer_norm;
  model.parallel_residual = new_architecture || config.flag_or("parallel_attn", true);
  const std::int64_t norms_beside = new_architecture ? config.size_or("num_ln_in_parallel_attn", 2) : 1;
  model.norms_per_layer = model.parallel_residual ? static_cast<int>(std::min<std::int64_t>(norms_beside, 2)) : 2;
  return model;
}

constexpr std::array readers = {
    ModelTypeReader{"falcon", read_falcon},
    ModelTypeReader{"gemma", read_gemma},
    ModelTypeReader{"gemma2", read_gemma2},
    ModelTypeReader{"gemma3_text", read_gemma3_text},
    ModelTypeReader{"gemma4_text", read_gemma4_text},
    ModelTypeReader{"gpt2", read_gpt2},
    ModelTypeReader{"gpt_neox", read_gpt_neox},
    ModelTypeReader{"llama", read_llama},
    ModelTypeReader{"mistral", read_mistral},
    ModelTypeReader{"olmo", read_olmo},
    ModelTypeReader{"olmo2", read_olmo2},
    ModelTypeReader{"phi3", read_phi3},
    ModelTypeReader{"qwen2", read_qwen2},
    ModelTypeReader{"qwen3", read_qwen3},
};

}  // namespace

std::span<const ModelTypeReader> dense_readers() { return readers; }

}  // namespace lockstep::workloads
