/// Readers of model_types whose layers carry a state along the sequence, most of them beside layers with attention.
#include <algorithm>
#include <array>

#include "workloads/model/huggingface/import_hf_private.hpp"

namespace lockstep::workloads {
namespace {

bool holds(const std::vector<std::int64_t>& list, std::int64_t layer) {
  return std::find(list.begin(), list.end(), layer) != list.end();
}

/// linear_attention or full_attention for each layer; without the list, attention in every full_attention_interval-th.
void place_recurrence(const HfConfig& config, Model& model) {
  const YamlView list = config.text()["layer_types"];
  if (!config.given("layer_types")) {
    const std::int64_t interval = config.size_or("full_attention_interval", 4);
    return spread_recurrence([&](std::int64_t layer) { return (layer + 1) % interval == 0; }, model);
  }
  const std::vector<YamlView> words = list.items();
  if (!list.is_list() || model.layers == 0) return;
  if (static_cast<std::int64_t>(words.size()) != model.layers) {
    list.problem(std::to_string(words.size()) + " layer types for " + std::to_string(model.layers) + " layers",
                 "one for each layer");
    return;
  }
  std::vector<std::int64_t> attends;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].choice({"linear_attention", "full_attention"}) == 1) attends.push_back(static_cast<std::int64_t>(i));
  }
  spread_recurrence([&](std::int64_t layer) { return holds(attends, layer); }, model);
}

/// Three Gated DeltaNet layers to one with attention, whose output a gate scales; the shared expert has one too.
Model read_qwen3_next(const HfConfig& config) {
  Model model = read_shape(config, {.kv_heads = 2, .head_size = 256});
  read_attention_bias(config, false, model);
  model.qk_norm = QkNorm::per_head;
  model.attention_gate = true;
  Recurrence recurrence;
  recurrence.rule = Recurrence::Rule::gated_delta;
  recurrence.heads = config.size_or("linear_num_value_heads", 32);
  recurrence.key_heads = config.size_or("linear_num_key_heads", 16);
  recurrence.key_size = config.size_or("linear_key_head_dim", 128);
  recurrence.value_size = config.size_or("linear_value_head_dim", 128);
  recurrence.convolution = config.size_or("linear_conv_kernel_dim", 4);
  check_recurrence(recurrence, config.text());
  model.recurrence = recurrence;
  place_recurrence(config, model);
  Experts experts;
  experts.count = config.size_or("num_experts", 512);
  experts.per_token = config.size_or("num_experts_per_tok", 10);
  experts.width = config.size_or("moe_intermediate_size", 512);
  experts.shared = 1;
  experts.shared_width = config.size_or("shared_expert_intermediate_size", 512);
  experts.shared_gate = true;
  const std::int64_t step = config.size_or("decoder_sparse_step", 1);
  const std::vector<std::int64_t> dense = config.list("mlp_only_layers");
  spread_experts([&](std::int64_t layer) { return !holds(dense, layer) && (layer + 1) % step == 0; }, model);
  if (has_dense_layer(model)) model.d_ff = config.size_or("intermediate_size", 5632);
  check_experts(experts, config.text()["num_experts_per_tok"], config.text()["n_group"], config.text()["topk_group"]);
  model.experts = experts;
  return model;
}

/// Words of newer files for the letters of hybrid_override_pattern.
std::string letters_of_words(const YamlView& words) {
  constexpr char letters[] = {'M', 'M', '*', '*', '-', 'E'};
  std::string text;
  for (const YamlView& word : words.items()) {
    text += letters[word.choice({"mamba", "linear_attention", "attention", "full_attention", "mlp", "moe"})];
  }
  return text;
}

std::vector<LayerKind> lettered_layers(const YamlView& place, const std::string& letters) {
  const std::vector<LayerKind> kinds = layers_of_letters(letters);
  if (kinds.empty() || std::ssize(kinds) > most_layers)
    place.problem("`" + letters.substr(0, 80) + "` are not the layers of a hybrid model",
                  "letters M (Mamba-2), * (attention), - (MLP) and E (experts)");
  return kinds;
}

/// Experts may work on a latent of the token; a prediction module has several layers.
void read_nemotron_experts(const HfConfig& config, Model& model) {
  Experts experts;
  experts.count = config.size_or("n_routed_experts", 8);
  experts.per_token = config.size_or("num_experts_per_tok", 2);
  experts.width = config.size_or("moe_intermediate_size", 7688);
  experts.shared = config.size_or("n_shared_experts", 1, 0);
  experts.shared_width = experts.shared > 0 ? config.size_or("moe_shared_expert_intermediate_size", 7688) : 0;
  if (experts.shared > 0) experts.shared = 1;  // their widths stand there as one
  experts.latent = config.size_or("moe_latent_size", 0, 0);
  experts.score_bias = true;
  experts.groups = config.size_or("n_group", 1);
  experts.groups_per_token = config.size_or("topk_group", 1);
  check_experts(experts, config.text()["num_experts_per_tok"], config.text()["n_group"], config.text()["topk_group"]);
  model.experts = experts;
}

/// Each layer is one part with its norm: Mamba-2, attention without positions, a plain MLP or experts.
Model read_nemotron_h(const HfConfig& config) {
  Model model;
  model.d_model = config.size_or("hidden_size", 4096);
  model.heads = config.size_or("num_attention_heads", 32);
  model.kv_heads = config.is_null("num_key_value_heads") ? 0 : config.size_or("num_key_value_heads", 8);
  model.head_size = config.size_or({"head_dim", "attention_head_dim"}, 128);
  model.vocabulary = config.size_or("vocab_size", 131'072);
  model.tied_embeddings = config.flag_or("tie_word_embeddings", false);
  model.gated = false;
  model.rotary = false;
  read_attention_bias(config, false, model);
  model.mlp_bias = config.flag_or("mlp_bias", false);
  const bool in_words = config.given("layers_block_type");
  const YamlView pattern =
      in_words ? config.text()["layers_block_type"]
               : config.text().require("hybrid_override_pattern", "letters M, *, - and E, one for each layer");
  const auto letters_at = [&](const YamlView& place, bool words) {
    return lettered_layers(place, words ? letters_of_words(place) : place.text());
  };
  if (pattern.exists()) {
    const std::vector<LayerKind> kinds = letters_at(pattern, in_words);
    model.layer_kinds.assign(kinds.begin(), kinds.end());
    model.layers = std::ssize(kinds);
  }
  if (config.given("num_hidden_layers") && config.size("num_hidden_layers", most_layers) != model.layers &&
      model.layers > 0) {
    config.text()["num_hidden_layers"].problem("there are " + std::to_string(model.layers) + " layers in the pattern",
                                               "the same number twice");
  }
  Recurrence recurrence;
  recurrence.heads = config.size_or("mamba_num_heads", 128);
  recurrence.key_heads = config.size_or({"n_groups", "mamba_n_groups"}, 8);
  recurrence.key_size = config.size_or("ssm_state_size", 128);
  recurrence.value_size = config.size_or("mamba_head_dim", 64);
  recurrence.convolution = config.size_or({"conv_kernel", "mamba_d_conv"}, 4);
  recurrence.convolution_bias =
      config.flag_or(config.given("use_conv_bias") ? "use_conv_bias" : "mamba_conv_bias", true);
  recurrence.chunk = std::min(config.size_or({"chunk_size", "mamba_chunk_size"}, 128), most_chunk);
  check_recurrence(recurrence, config.text());
  model.recurrence = recurrence;
  if (config.flag_or("use_bias", false) || config.flag_or("mamba_proj_bias", false))
    config.text().problem("biases of the state's projections are not modelled",
                          "use_bias: false, mamba_proj_bias: false");
  const auto& kinds = model.layer_kinds;
  if (has_dense_layer(model)) model.d_ff = config.size_or("intermediate_size", 21'504);
  model.mtp_modules = config.size_or("num_nextn_predict_layers", 0, 0);
  const bool experts = std::any_of(kinds.begin(), kinds.end(), [](const LayerKind& kind) { return kind.experts; });
  if (model.mtp_modules > 0) {
    const YamlView words = config.text()["mtp_layers_block_type"], text = config.text()["mtp_hybrid_override_pattern"];
    std::string letters = "*E";
    if (words.exists()) letters = letters_of_words(words);
    if (!words.exists() && text.exists()) letters = text.text();
    (void)lettered_layers(words.exists() ? words : text, letters);
    model.mtp_layers = prediction_of_letters(letters);
  }
  if (experts) read_nemotron_experts(config, model);
  return model;
}

/// Layers counted from 1 in two lists.
void place_kimi_layers(const YamlView& linear, Model& model) {
  const auto numbers = [&](const char* key) {
    std::vector<std::int64_t> layers;
    for (const YamlView& item : linear.require(key, "a list of layers, counted from 1").items()) {
      layers.push_back(item.integer(1, std::max<std::int64_t>(model.layers, 1)) - 1);
    }
    return layers;
  };
  const std::vector<std::int64_t> full = numbers("full_attn_layers"), delta = numbers("kda_layers");
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    if (holds(full, layer) != holds(delta, layer)) continue;
    linear.problem(
        "layer " + std::to_string(layer + 1) + " is in " + (holds(full, layer) ? "both lists" : "neither list"),
        "each layer, counted from 1, in full_attn_layers or kda_layers");
    return;
  }
  spread_recurrence([&](std::int64_t layer) { return holds(full, layer); }, model);
}

/// Kimi Delta Attention and latent attention without positions; experts as DeepSeek has them, under other names.
Model read_kimi_linear(const HfConfig& config) {
  Model model = read_shape(config, {});
  for (const char* key : {"attn_res_block_size", "routed_expert_hidden_size"}) {
    if (config.given(key))
      config.text()[key].problem("this part of Kimi K3 is not modelled", "a model as Kimi-Linear-48B-A3B");
  }
  LatentAttention latent;
  latent.q_rank = config.given("q_lora_rank") ? config.size("q_lora_rank") : 0;
  latent.kv_rank = config.size("kv_lora_rank");
  latent.nope_head_size = config.size("qk_nope_head_dim");
  latent.rope_head_size = config.size("qk_rope_head_dim");
  latent.value_head_size = config.size("v_head_dim");
  model.latent = latent;
  model.rotary = !config.flag_or("mla_use_nope", false);
  model.attention_gate = config.flag_or("mla_use_output_gate", false);
  const YamlView linear =
      config.text().require("linear_attn_config", "num_heads, head_dim, kda_layers, full_attn_layers");
  if (linear.exists() && linear.expect_map("num_heads, head_dim, kda_layers, full_attn_layers")) {
    const HfConfig inner = config.part("linear_attn_config");
    Recurrence recurrence;
    recurrence.rule = Recurrence::Rule::kimi_delta;
    recurrence.heads = recurrence.key_heads = inner.size("num_heads");
    recurrence.key_size = recurrence.value_size = inner.size("head_dim");
    recurrence.decay_rank = recurrence.value_size;
    recurrence.gate_rank = inner.flag_or("use_full_rank_gate", false) ? 0 : recurrence.value_size;
    recurrence.convolution = inner.size_or("short_conv_kernel_size", 4);
    check_recurrence(recurrence, linear);
    model.recurrence = recurrence;
    place_kimi_layers(linear, model);
  }
  Experts experts;
  experts.count = config.size("num_experts");
  experts.per_token = config.size({"num_experts_per_token", "num_experts_per_tok"});
  experts.width = config.size("moe_intermediate_size");
  experts.shared = config.size_or("num_shared_experts", 0, 0);
  experts.shared_width = experts.shared > 0 ? experts.width : 0;
  experts.score_bias = true;
  experts.groups = config.size_or("num_expert_group", 1);
  experts.groups_per_token = config.size_or("topk_group", 1);
  const std::int64_t dense_first = config.size_or("first_k_dense_replace", 0, 0),
                     step = config.size_or("moe_layer_freq", 1);
  spread_experts([&](std::int64_t layer) { return layer >= dense_first && layer % step == 0; }, model);
  if (has_dense_layer(model)) model.d_ff = config.size("intermediate_size");
  if (experts.per_token > 0)
    check_experts(experts, config.text()["num_experts_per_token"], config.text()["num_expert_group"],
                  config.text()["topk_group"]);
  model.experts = experts;
  model.mtp_modules = config.size_or("num_nextn_predict_layers", 0, 0);
  return model;
}

constexpr std::array readers = {
    ModelTypeReader{"kimi_linear", read_kimi_linear},
    ModelTypeReader{"nemotron_h", read_nemotron_h},
    ModelTypeReader{"qwen3_next", read_qwen3_next},
};

}  // namespace

std::span<const ModelTypeReader> hybrid_readers() { return readers; }

}  // namespace lockstep::workloads
