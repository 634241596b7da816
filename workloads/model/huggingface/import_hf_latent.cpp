/// Readers of DeepSeek and of the types that took over its experts.
#include <algorithm>
#include <array>

#include "workloads/model/huggingface/import_hf_private.hpp"

namespace lockstep::workloads {
namespace {

/// num_key_value_heads and head_dim stand in these files too, but say nothing of latent attention.
void read_latent(const HfConfig& config, Model& model) {
  LatentAttention latent;
  // Absent: the class has 1536. Null: queries without a latent.
  latent.q_rank = config.is_null("q_lora_rank") ? 0 : config.size_or("q_lora_rank", 1536);
  latent.kv_rank = config.size_or("kv_lora_rank", 512);
  latent.nope_head_size = config.size_or("qk_nope_head_dim", 128);
  latent.rope_head_size = config.size_or("qk_rope_head_dim", 64);
  latent.value_head_size = config.size_or("v_head_dim", 128);
  model.latent = latent;
  read_attention_bias(config, false, model);
}

/// Dense below first_k_dense_replace, then experts in every moe_layer_freq-th layer.
void place_experts(const HfConfig& config, std::int64_t dense_first, Model& model) {
  if (dense_first > model.layers && model.layers > 0) {
    config.text()["first_k_dense_replace"].problem(
        std::to_string(dense_first) + " dense layers of " + std::to_string(model.layers),
        "at most as many as there are");
  }
  const std::int64_t step = config.size_or("moe_layer_freq", 1);
  spread_experts([&](std::int64_t layer) { return layer >= dense_first && layer % step == 0; }, model);
  if (has_dense_layer(model)) model.d_ff = config.size("intermediate_size");
}

/// Routed and shared experts, with the defaults of the type.
struct ExpertDefaults {
  std::int64_t count = 0;
  std::int64_t per_token = 0;  ///< 0: the key is required
  std::int64_t width = 0;      ///< 0: the key is required
  std::int64_t shared = 0;
};

std::int64_t size_or_required(const HfConfig& config, std::string_view key, std::int64_t absent) {
  return absent > 0 ? config.size_or(key, absent) : config.size(key);
}

Experts read_experts(const HfConfig& config, const ExpertDefaults& absent) {
  Experts experts;
  experts.count = config.size_or("n_routed_experts", absent.count);
  experts.per_token = size_or_required(config, "num_experts_per_tok", absent.per_token);
  experts.width = size_or_required(config, "moe_intermediate_size", absent.width);
  experts.shared = config.is_null("n_shared_experts") ? 0 : config.size_or("n_shared_experts", absent.shared, 0);
  experts.shared_width = experts.shared > 0 ? experts.width : 0;
  return experts;
}

void read_groups(const HfConfig& config, std::int64_t groups, std::int64_t groups_per_token, Experts& experts) {
  experts.groups = config.size_or("n_group", groups);
  experts.groups_per_token = config.size_or("topk_group", experts.groups == 1 ? 1 : groups_per_token);
}

void take_experts(const HfConfig& config, const Experts& experts, Model& model) {
  if (experts.per_token > 0) {
    check_experts(experts, config.text()["num_experts_per_tok"], config.text()["n_group"], config.text()["topk_group"]);
  }
  model.experts = experts;
}

/// The class's own defaults fit no published model, so the sizes must be there.
Model read_deepseek_v2(const HfConfig& config) {
  Model model = read_shape(config, {});
  read_latent(config, model);
  if (config.is_null("n_routed_experts")) {
    model.d_ff = config.size("intermediate_size");
    return model;
  }
  Experts experts = read_experts(config, {.count = 64, .shared = 2});
  const YamlView method = config.text()["topk_method"];
  const bool grouped = method.exists() && !method.is_null() && method.text() != "greedy";
  if (grouped) read_groups(config, 1, 1, experts);
  const std::string_view dense_first = "first_k_dense_replace";
  place_experts(config, config.given(dense_first) ? config.size_or(dense_first, 0, 0) : config.size(dense_first),
                model);
  take_experts(config, experts, model);
  return model;
}

Model read_deepseek_v3(const HfConfig& config) {
  Model model = read_shape(config, {});
  read_latent(config, model);
  Experts experts = read_experts(config, {.count = 256, .per_token = 8, .width = 2048, .shared = 1});
  experts.score_bias = true;
  read_groups(config, 8, 4, experts);
  place_experts(config, config.size_or("first_k_dense_replace", 3, 0), model);
  take_experts(config, experts, model);
  model.mtp_modules = config.size_or("num_nextn_predict_layers", 0, 0);
  return model;
}

Model read_deepseek_v32(const HfConfig& config) {
  Model model = read_deepseek_v3(config);
  model.indexer = SparseIndexer{.heads = config.size_or("index_n_heads", 64),
                                .head_size = config.size_or("index_head_dim", 128),
                                .top_k = config.size_or("index_topk", 2048)};
  return model;
}

/// Layers that choose tokens themselves (full, F) or take over those of the layer before (shared, S): listed, as
/// letters, or the first `offset` and every freq-th after them.
void read_index_layers(const HfConfig& config, Model& model) {
  const YamlView listed = config.text()["indexer_types"], pattern = config.text()["index_topk_pattern"];
  std::vector<bool> own;
  YamlView place = listed;
  if (config.given("indexer_types")) {
    for (const YamlView& word : listed.items()) own.push_back(word.choice({"full", "shared"}) == 0);
  } else if (config.given("index_topk_pattern")) {
    place = pattern;
    const std::string letters(pattern.text());
    if (letters.find_first_not_of("FS") != std::string::npos)
      return place.problem("has other letters than F (full) and S (shared)", "one of the two for each layer");
    for (const char letter : letters) own.push_back(letter == 'F');
  } else {
    const std::int64_t every = config.size_or("index_topk_freq", 1),
                       first = config.size_or("index_skip_topk_offset", 2, every == 1 ? 0 : 1);
    if (every == 1)
      return;  // else the first layer, which has none before it to share with, is one of those that choose
    return spread_index([&](std::int64_t layer) { return std::max<std::int64_t>(layer - first + 1, 0) % every == 0; },
                        model);
  }
  if (std::ssize(own) != model.layers || !own.front()) {
    place.problem("is not a list of " + std::to_string(model.layers) + " layers of which the first has an index",
                  "full or shared for each layer");
    return;
  }
  spread_index([&](std::int64_t layer) { return own[static_cast<std::size_t>(layer)]; }, model);
}

/// DeepSeek-V3.2's attention; class defaults are those of GLM-5.
Model read_glm_moe_dsa(const HfConfig& config) {
  Model model = read_shape(config, {.vocabulary = 154'880});
  LatentAttention latent;
  latent.q_rank = config.is_null("q_lora_rank") ? 0 : config.size_or("q_lora_rank", 2048);
  latent.kv_rank = config.size_or("kv_lora_rank", 512);
  latent.nope_head_size = config.size_or("qk_nope_head_dim", 192);
  latent.rope_head_size = config.size_or("qk_rope_head_dim", 64);
  latent.value_head_size = config.size_or("v_head_dim", 256);
  model.latent = latent;
  read_attention_bias(config, false, model);
  model.indexer = SparseIndexer{.heads = config.size_or("index_n_heads", 32),
                                .head_size = config.size_or("index_head_dim", 128),
                                .top_k = config.size_or("index_topk", 2048)};
  Experts experts = read_experts(config, {.count = 256, .per_token = 8, .width = 2048, .shared = 1});
  experts.score_bias = true;
  read_groups(config, 1, 1, experts);
  place_experts(config, config.size_or("first_k_dense_replace", 3, 0), model);
  take_experts(config, experts, model);
  read_index_layers(config, model);
  model.mtp_modules = config.size_or("num_nextn_predict_layers", 0, 0);
  return model;
}

/// What each layer sees beyond its window, as a letter: by name, or by the tokens of an entry (0: no entries); older
/// files list those of the prediction modules behind the layers.
std::string compressed_layers(const HfConfig& config, const CompressedAttention& compressed, std::int64_t layers) {
  std::string letters;
  YamlView place = config.text()["layer_types"];
  if (config.given("layer_types")) {
    constexpr char names[] = {'w', 'c', 'a'};
    for (const YamlView& word : place.items())
      letters +=
          names[word.choice({"sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"})];
  } else if (config.given("compress_ratios")) {
    place = config.text()["compress_ratios"];
    for (const std::int64_t rate : config.list("compress_ratios")) {
      if (rate != 0 && rate != compressed.chosen_rate && rate != compressed.all_rate) {
        place.problem("entries of " + std::to_string(rate) + " tokens are neither chosen nor all seen",
                      "0, " + std::to_string(compressed.chosen_rate) + " or " + std::to_string(compressed.all_rate));
        return "";
      }
      letters += rate == 0 ? 'w' : rate == compressed.chosen_rate ? 'c' : 'a';
    }
  } else {  // the class's own: two layers that see all entries, then chosen and all in turn
    for (std::int64_t layer = 0; layer < layers; ++layer) letters += layer >= 2 && layer % 2 != 0 ? 'c' : 'a';
  }
  const auto behind = letters.substr(std::min(letters.size(), static_cast<std::size_t>(layers)));
  if (std::ssize(letters) < layers || behind.find_first_not_of('w') != std::string::npos) {
    place.problem(std::to_string(letters.size()) + " entries for " + std::to_string(layers) + " layers",
                  "one for each layer, then none but windows for prediction modules");
    return "";
  }
  return letters.substr(0, static_cast<std::size_t>(layers));
}

/// Windows and compressed entries with one key for all heads, hyper-connections, experts in all layers; class defaults
/// are those of V4-Flash.
Model read_deepseek_v4(const HfConfig& config) {
  Model model = read_shape(config, {.kv_heads = 1, .head_size = 512, .vocabulary = 129'280});
  if (config.flag_or("attention_bias", false) || config.flag_or("mlp_bias", false))
    config.text().problem("biases of DeepSeek-V4's projections are not modelled",
                          "attention_bias: false, mlp_bias: false");
  model.attention_sinks = true;
  CompressedAttention compressed;
  compressed.q_rank = config.size_or("q_lora_rank", 1024);
  compressed.output_groups = config.size_or("o_groups", 8);
  compressed.output_rank = config.size_or("o_lora_rank", 1024);
  const HfConfig rates = config.part("compress_rates");
  compressed.chosen_rate = config.size_or("compress_rate_csa", rates.size_or("compressed_sparse_attention", 4));
  compressed.all_rate = config.size_or("compress_rate_hca", rates.size_or("heavily_compressed_attention", 128));
  model.compressed = compressed;
  model.indexer = SparseIndexer{.heads = config.size_or("index_n_heads", 64),
                                .head_size = config.size_or("index_head_dim", 128),
                                .top_k = config.size_or("index_topk", 512)};
  model.streams = config.size_or("hc_mult", 4);
  if (model.streams > most_streams)
    config.text()["hc_mult"].problem(std::to_string(model.streams) + " residual streams",
                                     "at most " + std::to_string(most_streams));
  const std::string letters = compressed_layers(config, compressed, model.layers);
  if (letters.empty() || !spread_compression(letters, model)) return model;
  spread_window({.reach = AttentionReach::sliding, .span = config.size_or("sliding_window", 128)}, model);
  Experts experts = read_experts(config, {.count = 256, .per_token = 6, .width = 2048, .shared = 1});
  experts.score_bias = true;
  experts.hash_layers = config.size_or("num_hash_layers", 3, 0);
  if (config.given("mlp_layer_types")) {
    experts.hash_layers = 0;
    for (const YamlView& word : config.text()["mlp_layer_types"].items())
      experts.hash_layers += word.choice({"hash_moe", "moe"}) == 0 ? 1 : 0;
  }
  spread_experts([](std::int64_t) { return true; }, model);
  take_experts(config, experts, model);
  check_compressed(model, config.text());
  model.mtp_modules = config.size_or("num_nextn_predict_layers", 1, 0);
  return model;
}

/// Grouped-query attention whose head size is not hidden_size / heads; attention_bias spares the output.
Model read_glm4_moe(const HfConfig& config) {
  Model model = read_shape(config, {.kv_heads = 8, .head_size = 128});
  model.qkv_bias = config.flag_or("attention_bias", false);
  if (config.flag_or("use_qk_norm", false)) model.qk_norm = QkNorm::per_head;
  Experts experts = read_experts(config, {.count = 128, .per_token = 8, .width = 1408, .shared = 1});
  experts.score_bias = true;
  read_groups(config, 1, 1, experts);
  place_experts(config, config.size_or("first_k_dense_replace", 1, 0), model);
  take_experts(config, experts, model);
  model.mtp_modules = config.size_or({"num_nextn_predict_layers", "num_mtp_layers"}, 0, 0);
  return model;
}

constexpr std::array readers = {
    ModelTypeReader{"deepseek_v2", read_deepseek_v2},   ModelTypeReader{"deepseek_v3", read_deepseek_v3},
    ModelTypeReader{"deepseek_v32", read_deepseek_v32}, ModelTypeReader{"deepseek_v4", read_deepseek_v4},
    ModelTypeReader{"glm4_moe", read_glm4_moe},         ModelTypeReader{"glm_moe_dsa", read_glm_moe_dsa},
    ModelTypeReader{"kimi_k2", read_deepseek_v3},
};

}  // namespace

std::span<const ModelTypeReader> latent_readers() { return readers; }

}  // namespace lockstep::workloads
