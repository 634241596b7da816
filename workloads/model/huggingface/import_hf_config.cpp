/// How a config.json is asked, and the keys that most model_types share.
#include <cstddef>

#include "workloads/model/huggingface/import_hf_private.hpp"

namespace lockstep::workloads {
namespace {

std::string joined(HfConfig::Keys names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "`" : " or `") + std::string(name) + "`";
  return text;
}

AttentionReach reach_named(const YamlView& word) {
  constexpr AttentionReach reaches[] = {AttentionReach::full, AttentionReach::sliding, AttentionReach::chunked};
  return reaches[word.choice({"full_attention", "sliding_attention", "chunked_attention"})];
}

/// One word for each layer; the span of windows and chunks stands beside the list.
void read_layer_types(const HfConfig& config, std::int64_t span, Model& model) {
  const YamlView list = config.text()["layer_types"];
  const std::vector<YamlView> words = list.items();
  if (!list.is_list() || model.layers == 0) return;
  if (static_cast<std::int64_t>(words.size()) != model.layers) {
    list.problem(std::to_string(words.size()) + " layer types for " + std::to_string(model.layers) + " layers",
                 "one for each layer");
    return;
  }
  model.layer_kinds.resize(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    LayerKind& kind = model.layer_kinds[i];
    kind.reach = reach_named(words[i]);
    if (kind.reach == AttentionReach::full) continue;
    kind.span = span;
    if (span > 0) continue;
    words[i].problem("no size of the window is given", "sliding_window or attention_chunk_size as well as the list");
    return;
  }
}

}  // namespace

HfConfig::HfConfig(const YamlView& document) : outer_(document), text_(document) {
  if (const YamlView inner = document["text_config"]; inner.exists() && !inner.is_null()) text_ = inner;
}

HfConfig HfConfig::part(std::string_view key) const {
  if (!given(key)) return {YamlView(), YamlView()};
  const YamlView map = text_[key];
  return map.expect_map("a map") ? HfConfig(map, map) : HfConfig(YamlView(), YamlView());
}

/// The first name that is given. Two names of one meaning must agree.
YamlView HfConfig::one_of(Keys names) const {
  YamlView found;
  for (const std::string_view name : names) {
    if (!given(name)) continue;
    const YamlView value = text_[name];
    if (!found.exists()) {
      found = value;
    } else if (value.is_scalar() && found.is_scalar() && value.text() != found.text()) {
      value.problem("is " + value.text() + ", but " + found.path() + " is " + found.text(), "the same number twice");
    }
  }
  return found;
}

std::int64_t HfConfig::size(Keys names, std::int64_t most) const {
  const YamlView value = one_of(names);
  if (value.exists()) return value.integer(1, most);
  // A null is complained of at its place, an absent key at the map.
  const std::string_view first = *names.begin();
  if (is_null(first)) return text_[first].integer(1, most);
  (void)text_.require(first, names.size() == 1 ? "a whole number" : "a whole number as " + joined(names));
  return 0;
}

std::int64_t HfConfig::size_or(Keys names, std::int64_t absent, std::int64_t least) const {
  const YamlView value = one_of(names);
  return value.exists() ? value.integer(least, most_size) : absent;
}

bool HfConfig::flag_or(std::string_view key, bool absent) const {
  if (given(key)) return text_[key].boolean();
  const YamlView beside = outer_[key];
  return beside.exists() && !beside.is_null() ? beside.boolean() : absent;
}

std::vector<std::int64_t> HfConfig::list(std::string_view key) const {
  std::vector<std::int64_t> numbers;
  if (!given(key)) return numbers;
  for (const YamlView& item : text_[key].items()) numbers.push_back(item.integer(0, most_layers));
  return numbers;
}

Model read_shape(const HfConfig& config, const ClassDefaults& absent) {
  Model model;
  model.layers = config.size("num_hidden_layers", most_layers);
  model.d_model = config.size("hidden_size");
  model.heads = config.size("num_attention_heads");
  const bool one_per_head = config.is_null("num_key_value_heads");  // null differs from absent here
  model.kv_heads = one_per_head ? 0 : config.size_or("num_key_value_heads", absent.kv_heads);
  model.head_size = config.size_or("head_dim", absent.head_size);
  model.vocabulary =
      absent.vocabulary > 0 ? config.size_or("vocab_size", absent.vocabulary) : config.size("vocab_size");
  model.tied_embeddings = config.flag_or("tie_word_embeddings", absent.tied);
  return model;
}

Model read_dense_shape(const HfConfig& config, const ClassDefaults& absent) {
  Model model = read_shape(config, absent);
  model.d_ff = config.size("intermediate_size");
  return model;
}

void read_attention_bias(const HfConfig& config, bool absent, Model& model) {
  model.qkv_bias = model.attention_output_bias = config.flag_or("attention_bias", absent);
}

void read_windows(const HfConfig& config, const WindowRule& rule, Model& model) {
  if (config.given("layer_types")) {
    read_layer_types(config, rule.span, model);
  } else if (rule.span > 0) {
    spread_window(rule, model);
  }
}

}  // namespace lockstep::workloads
