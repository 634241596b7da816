/// Models from YAML: the inline block of a scenario and the catalog.
#include <algorithm>
#include <system_error>

#include "workloads/model/layer_pattern.hpp"
#include "workloads/model/model.hpp"
#include "workloads/model/model_limits.hpp"
#include "workloads/model/model_yaml_private.hpp"

namespace lockstep::workloads {
namespace {

/// Queries, keys and values out of latents; kv_heads and head_size follow from it.
void read_latent_attention(const YamlView& block, Model& model) {
  if (!block.exists() || !block.expect_map("kv_rank, nope_head_size, rope_head_size, value_head_size, ...")) return;
  LatentAttention latent;
  latent.q_rank = size_or(block, "q_rank", 1, 0);
  latent.kv_rank = required_size(block, "kv_rank", 1, most_size);
  latent.nope_head_size = required_size(block, "nope_head_size", 1, most_size);
  latent.rope_head_size = required_size(block, "rope_head_size", 1, most_size);
  latent.value_head_size = required_size(block, "value_head_size", 1, most_size);
  read_indexer(block["indexer"], model);
  block.refuse_unknown_keys();
  model.latent = latent;
}

void read_window(const YamlView& block, Model& model) {
  if (!block.exists() || !block.expect_map("tokens, kind, full_every, full_first")) return;
  WindowRule rule;
  rule.span = required_size(block, "tokens", 1, most_size);
  rule.reach =
      choice_or_first(block, "kind", {"sliding", "chunked"}) == 0 ? AttentionReach::sliding : AttentionReach::chunked;
  rule.full_every = size_or(block, "full_every", 0, 0);
  rule.full_first = size_or(block, "full_first", 0, 0);
  block.refuse_unknown_keys();
  if (rule.span > 0) spread_window(rule, model);
}

/// Which layers have experts: all but the first dense_first, and of the others each `every`-th, counted from 1. Letters
/// of the layers have said so already.
void read_expert_layers(const YamlView& block, bool listed, Model& model) {
  if (listed) {
    for (const char* key : {"dense_first", "every"}) {
      if (block[key].exists()) block[key].problem("layer_pattern says which layers have experts", "no such key");
    }
    return;
  }
  const std::int64_t dense_first = size_or(block, "dense_first", 0, 0);
  const std::int64_t every = size_or(block, "every", 1, 1);
  const auto here = [&](std::int64_t layer) { return layer >= dense_first && (layer + 1) % every == 0; };
  if (spread_experts(here, model) == 0 && model.layers > 0) {
    block.problem("no layer is left for the experts",
                  "dense_first and every that leave some of the " + std::to_string(model.layers) + " layers");
  }
}

void read_experts(const YamlView& block, bool listed, Model& model) {
  if (!block.exists() || !block.expect_map("experts, experts_per_token, d_ff, ...")) return;
  Experts experts;
  experts.count = required_size(block, "experts", 1, most_size);
  experts.per_token = required_size(block, "experts_per_token", 1, most_size);
  experts.width = required_size(block, "d_ff", 1, most_size);
  experts.shared = size_or(block, "shared_experts", 0, 0);
  const YamlView shared_width = block["shared_d_ff"];
  if (shared_width.exists() && experts.shared == 0) {
    shared_width.problem("there are no shared experts", "shared_experts");
  }
  experts.shared_width = size_or(block, "shared_d_ff", 1, experts.shared > 0 ? experts.width : 0);
  experts.shared_gate = flag_or(block, "shared_gate", false);
  experts.biases = flag_or(block, "biases", false);
  experts.score_bias = flag_or(block, "score_bias", false);
  experts.groups = size_or(block, "groups", 1, 1);
  experts.groups_per_token = size_or(block, "groups_per_token", 1, experts.groups);
  experts.hash_layers = size_or(block, "hash_layers", 0, 0);
  experts.latent = size_or(block, "latent", 1, 0);
  read_expert_layers(block, listed, model);
  block.refuse_unknown_keys();
  if (experts.count > 0) check_experts(experts, block["experts_per_token"], block["groups"], block["groups_per_token"]);
  model.experts = experts;
}

/// The dense width is due exactly where a layer has the dense MLP.
void read_dense_width(const YamlView& block, Model& model) {
  if (has_dense_layer(model)) {
    model.d_ff = required_size(block, "d_ff", 1, most_size);
  } else if (const YamlView width = block["d_ff"]; width.exists()) {
    width.problem("no layer has the dense MLP", "the experts' width as moe.d_ff, or layers with the dense MLP");
  }
}

void read_transformer(const YamlView& block, Model& model) {
  model.model_type = "transformer";
  model.heads = required_size(block, "heads", 1, most_size);
  model.vocabulary = required_size(block, "vocabulary", 0, most_size);
  model.kv_heads = size_or(block, "kv_heads", 1, 0);
  model.head_size = size_or(block, "head_size", 1, 0);
  model.gated = choice_or_first(block, "mlp", {"gated", "plain"}) == 0;
  constexpr NormKind norms[] = {NormKind::rms, NormKind::layer_norm, NormKind::layer_norm_no_bias, NormKind::none};
  model.norm = norms[choice_or_first(block, "norm", {"rms", "layer_norm", "layer_norm_no_bias", "none"})];
  if (const YamlView norms_per_layer = block["norms_per_layer"]; norms_per_layer.exists()) {
    model.norms_per_layer = static_cast<int>(norms_per_layer.integer(0, 8));
  }
  model.final_norm = flag_or(block, "final_norm", true);
  model.tied_embeddings = flag_or(block, "tied_embeddings", false);
  model.qkv_bias = flag_or(block, "qkv_bias", false);
  model.attention_output_bias = flag_or(block, "attention_output_bias", false);
  model.mlp_bias = flag_or(block, "mlp_bias", false);
  constexpr QkNorm qk_norms[] = {QkNorm::none, QkNorm::per_head, QkNorm::full_width};
  model.qk_norm = qk_norms[choice_or_first(block, "qk_norm", {"false", "true", "full_width"})];
  model.attention_sinks = flag_or(block, "attention_sinks", false);
  model.attention_gate = flag_or(block, "attention_gate", false);
  model.rotary = flag_or(block, "rotary", true);
  model.parallel_residual = flag_or(block, "parallel_residual", false);
  model.learned_positions = size_or(block, "learned_positions", 0, 0);
  if (const YamlView streams = block["residual_streams"]; streams.exists())
    model.streams = streams.integer(1, most_streams);
  model.mtp_modules = size_or(block, "mtp_modules", 0, 0);
  read_latent_attention(block["latent_attention"], model);
  if (model.latent) {
    for (const char* key : {"kv_heads", "head_size"}) {
      if (block[key].exists()) block[key].problem("latent attention has its own sizes", "no such key");
    }
  }
  read_compressed_attention(block["compressed_attention"], model);
  read_full_heads(block["full_heads"], model);
  const bool listed = read_layer_pattern(block["layer_pattern"], model);
  read_recurrence(block["recurrence"], listed, model);
  read_window(block["window"], model);
  read_experts(block["moe"], listed, model);
  read_mtp_pattern(block["mtp_pattern"], model);
  check_layer_kinds(block, model);
  check_compressed(model, block);
  read_dense_width(block, model);
}

void make_two_matmul(Model& model) {
  model.model_type = "two-matmul";
  model.attention = false;
  model.gated = false;
  model.norm = NormKind::none;
  model.norms_per_layer = 0;
  model.final_norm = false;
}

}  // namespace

Model read_model(const YamlView& view, std::string_view name) {
  Model model;
  model.name = name;
  if (!view.expect_map("a model: layers, d_model, d_ff, ...")) return model;
  const bool two_matmul = choice_or_first(view, "type", {"transformer", "two-matmul"}) == 1;
  model.layers = required_size(view, "layers", 1, most_layers);
  model.d_model = required_size(view, "d_model", 1, most_size);
  if (const YamlView source = view["source"]; source.exists()) model.source = source.text();
  if (two_matmul) {
    model.d_ff = required_size(view, "d_ff", 1, most_size);
    make_two_matmul(model);
  } else {
    read_transformer(view, model);
  }
  view.refuse_unknown_keys();
  complete_shape(model, view);
  return model;
}

std::vector<std::string> model_names(const std::filesystem::path& catalog) {
  std::vector<std::string> names;
  std::error_code unreadable;  // an unreadable folder lists nothing
  for (const auto& entry : std::filesystem::directory_iterator(catalog, unreadable)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Model load_model(const std::filesystem::path& catalog, std::string_view name, Problems& problems) {
  const std::vector<std::string> names = model_names(catalog);
  if (!std::binary_search(names.begin(), names.end(), name)) {
    std::string expected = "a model from the catalog";
    if (const std::string hint = did_you_mean(name, names); !hint.empty()) expected += "; " + hint;
    problems.add({.where = {.file = catalog.string()},
                  .key = {},
                  .what = "there is no model `" + std::string(name) + "`",
                  .expected = expected});
    Model none;
    none.name = name;
    return none;
  }
  const YamlView file = YamlView::from_file(catalog / (std::string(name) + ".yaml"), problems);
  if (file.exists()) return read_model(file, name);
  Model none;
  none.name = name;
  return none;
}

}  // namespace lockstep::workloads
