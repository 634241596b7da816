/// Models from YAML: the inline block of a scenario and the catalog.
#include <algorithm>
#include <system_error>

#include "workloads/model.hpp"
#include "workloads/model_limits.hpp"

namespace lockstep {
namespace {

/// The size, or 0 when it is missing or refused, so that no later check complains of a made-up value.
std::int64_t required_size(const YamlView& block, std::string_view key, std::int64_t least, std::int64_t most) {
  const YamlView value = block.require(key, "a whole number");
  if (!value.exists()) return 0;
  const std::int64_t size = value.integer(least, most);
  const bool fell_back = size == least && !(value.is_scalar() && value.text() == std::to_string(least));
  return fell_back ? 0 : size;
}

std::int64_t size_or(const YamlView& block, std::string_view key, std::int64_t least, std::int64_t absent) {
  const YamlView value = block[key];
  return value.exists() ? value.integer(least, most_size) : absent;
}

bool flag_or(const YamlView& block, std::string_view key, bool absent) {
  const YamlView value = block[key];
  return value.exists() ? value.boolean() : absent;
}

/// Index of the chosen word; the first word is the default.
std::size_t choice_or_first(const YamlView& block, std::string_view key, const std::vector<std::string>& words) {
  const YamlView value = block[key];
  return value.exists() ? value.choice(words) : 0;
}

void read_transformer(const YamlView& block, Model& model) {
  model.model_type = "transformer";
  model.heads = required_size(block, "heads", 1, most_size);
  model.vocabulary = required_size(block, "vocabulary", 0, most_size);
  model.kv_heads = size_or(block, "kv_heads", 1, 0);
  model.head_size = size_or(block, "head_size", 1, 0);
  model.gated = choice_or_first(block, "mlp", {"gated", "plain"}) == 0;
  constexpr NormKind norms[] = {NormKind::rms, NormKind::layer_norm, NormKind::none};
  model.norm = norms[choice_or_first(block, "norm", {"rms", "layer_norm", "none"})];
  if (const YamlView norms_per_layer = block["norms_per_layer"]; norms_per_layer.exists()) {
    model.norms_per_layer = static_cast<int>(norms_per_layer.integer(0, 8));
  }
  model.final_norm = flag_or(block, "final_norm", true);
  model.tied_embeddings = flag_or(block, "tied_embeddings", false);
  model.qkv_bias = flag_or(block, "qkv_bias", false);
  model.attention_output_bias = flag_or(block, "attention_output_bias", false);
  model.mlp_bias = flag_or(block, "mlp_bias", false);
  model.qk_norm = flag_or(block, "qk_norm", false);
  model.learned_positions = size_or(block, "learned_positions", 0, 0);
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
  model.d_ff = required_size(view, "d_ff", 1, most_size);
  if (const YamlView source = view["source"]; source.exists()) model.source = source.text();
  if (two_matmul) {
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
    std::string expected = "a model of the catalog";
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

}  // namespace lockstep
