#include "workloads/model/model_block.hpp"

#include <algorithm>
#include <functional>

#include "workloads/model/layer_pattern.hpp"

namespace lockstep::workloads {
namespace {

/// One line a key; keys at their defaults are left out.
class BlockText {
 public:
  void line(const std::string& key, const std::string& value) { text_ += key + ": " + value + '\n'; }
  void line(const std::string& key, std::int64_t value) { line(key, std::to_string(value)); }
  void unless(std::int64_t usual, const std::string& key, std::int64_t value) {
    if (value != usual) line(key, value);
  }
  void when(bool holds, const std::string& key) {
    if (holds) line(key, "true");
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// "{a: 1, b: 2}".
class MapText {
 public:
  void add(const std::string& key, const std::string& value) {
    text_ += (text_.empty() ? "" : ", ") + key + ": " + value;
  }
  void add(const std::string& key, std::int64_t value) { add(key, std::to_string(value)); }
  void unless(std::int64_t usual, const std::string& key, std::int64_t value) {
    if (value != usual) add(key, value);
  }
  void when(bool holds, const std::string& key) {
    if (holds) add(key, "true");
  }
  [[nodiscard]] std::string text() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

/// The layers as a rule leaves them.
bool follows(const Model& model, const std::function<void(Model&)>& rule) {
  Model made;
  made.layers = model.layers;
  rule(made);
  drop_plain_layer_kinds(made);
  for (LayerId i = 0; i < model.layers; ++i) {
    if (!(made.layer(i) == model.layer(i))) return false;
  }
  return true;
}

/// The rules of the parts in which layers differ, as far as one is found.
struct LayerRules {
  std::string letters;
  std::int64_t attention_every = 0, attention_last = 0;
  WindowRule window;
  std::int64_t dense_first = 0, experts_every = 1;
  std::int64_t index_every = 1, index_first = 1;
  std::string compression;

  void apply(bool recurrence, bool experts, bool indexer, Model& model) const {
    if (!compression.empty()) (void)spread_compression(compression, model);
    if (indexer && index_every > 1)
      spread_index(
          [&](std::int64_t layer) { return layer < index_first || (layer - index_first + 1) % index_every == 0; },
          model);
    if (!letters.empty()) {
      const auto kinds = layers_of_letters(letters);
      model.layer_kinds.assign(kinds.begin(), kinds.end());
    } else if (recurrence) {
      spread_recurrence(
          [&](std::int64_t layer) {
            return layer >= model.layers - attention_last ||
                   (attention_every > 0 && (layer + 1) % attention_every == 0);
          },
          model);
    }
    if (window.span > 0) spread_window(window, model);
    if (experts && letters.empty())
      spread_experts([&](std::int64_t layer) { return layer >= dense_first && (layer + 1) % experts_every == 0; },
                     model);
  }
};

/// Without windows and compressed entries.
LayerRules experts_alone(LayerRules rules) {
  rules.window.span = 0;
  rules.compression.clear();
  return rules;
}

/// Letters where every layer is one part.
std::string letters_of(const std::vector<LayerKind>& kinds) {
  std::string letters;
  for (const LayerKind& kind : kinds) {
    if (kind.mlp == (kind.mixer != Mixer::none)) return "";
    letters += kind.mixer == Mixer::recurrence ? 'M' : kind.mixer == Mixer::attention ? '*' : kind.experts ? 'E' : '-';
  }
  return letters;
}

std::int64_t first_of(const Model& model, const std::function<bool(const LayerKind&)>& is) {
  for (LayerId i = 0; i < model.layers; ++i) {
    if (is(model.layer(i))) return i;
  }
  return model.layers;
}

constexpr std::int64_t longest_period = 32;

/// Looks at one part after the other; each is read off the layers without the others.
std::optional<LayerRules> rules_of(const Model& model) {
  LayerRules rules;
  const auto only = [&](auto keep) {
    Model part;
    part.layers = model.layers;
    part.layer_kinds.resize(model.layers);
    for (LayerId i = 0; i < model.layers; ++i) part.layer_kinds[i] = keep(model.layer(i));
    return part;
  };
  const auto found = [&](const Model& part, bool recurrence, bool experts, bool indexer) {
    return follows(part, [&](Model& made) { rules.apply(recurrence, experts, indexer, made); });
  };
  std::vector<LayerKind> kinds;
  for (LayerId i = 0; i < model.layers; ++i) kinds.push_back(model.layer(i));
  rules.letters = letters_of(kinds);
  if (model.compressed) {
    for (const LayerKind& kind : kinds) rules.compression += letter_of(kind.compression);
  }
  if (rules.letters.empty() && model.recurrence) {
    const Model mixers = only([](const LayerKind& kind) { return LayerKind{.mixer = kind.mixer}; });
    bool known = false;
    for (std::int64_t last = 0; last <= 1 && !known; ++last) {
      for (std::int64_t every = 0; every <= longest_period && !known; ++every) {
        rules.attention_last = last;
        rules.attention_every = every;
        known = found(mixers, true, false, false);
      }
    }
    if (!known) return std::nullopt;
  }
  const std::int64_t limited = first_of(model, [](const LayerKind& kind) { return kind.span > 0; });
  if (limited < model.layers) {
    rules.window.reach = model.layer(limited).reach;
    rules.window.span = model.layer(limited).span;
    bool known = false;
    for (std::int64_t every = 0; every <= longest_period && !known; ++every) {
      for (const std::int64_t first : {std::int64_t{0}, limited}) {
        rules.window.full_every = every;
        rules.window.full_first = first;
        const Model windows = only([](LayerKind kind) {
          kind.experts = false;
          kind.shared_index = false;
          return kind;
        });
        known = known || found(windows, model.recurrence.has_value(), false, false);
        if (known) break;
      }
    }
    if (!known) return std::nullopt;
  }
  if (model.experts && rules.letters.empty()) {
    const std::int64_t first = first_of(model, [](const LayerKind& kind) { return kind.experts; });
    bool known = false;
    for (std::int64_t every = 1; every <= longest_period && !known; ++every) {
      for (const std::int64_t dense : {std::int64_t{0}, first}) {
        rules.experts_every = every;
        rules.dense_first = dense;
        known = known || follows(only([](const LayerKind& kind) { return LayerKind{.experts = kind.experts}; }),
                                 [&](Model& made) { experts_alone(rules).apply(false, true, false, made); });
        if (known) break;
      }
    }
  }
  if (model.indexer) {
    const Model index = only([](const LayerKind& kind) { return LayerKind{.shared_index = kind.shared_index}; });
    bool known = false;
    for (std::int64_t every = 1; every <= longest_period && !known; ++every) {
      for (std::int64_t first = 1; first <= longest_period && !known; ++first) {
        rules.index_every = every;
        rules.index_first = first;
        known = follows(index, [&](Model& made) { experts_alone(rules).apply(false, false, true, made); });
      }
    }
  }
  Model whole;
  whole.layers = model.layers;
  rules.apply(model.recurrence.has_value(), model.experts.has_value(), model.indexer.has_value(), whole);
  drop_plain_layer_kinds(whole);
  if (whole.layer_kinds == model.layer_kinds) return rules;
  return std::nullopt;
}

MapText indexer_map(const SparseIndexer& indexer) {
  MapText map;
  map.add("heads", indexer.heads);
  map.add("head_size", indexer.head_size);
  map.add("top_k", indexer.top_k);
  return map;
}

std::string latent_text(const Model& model, const LayerRules& rules) {
  const LatentAttention& latent = *model.latent;
  MapText map;
  map.unless(0, "q_rank", latent.q_rank);
  map.add("kv_rank", latent.kv_rank);
  map.add("nope_head_size", latent.nope_head_size);
  map.add("rope_head_size", latent.rope_head_size);
  map.add("value_head_size", latent.value_head_size);
  if (model.indexer) {
    MapText indexer = indexer_map(*model.indexer);
    indexer.unless(1, "every", rules.index_every);
    if (rules.index_every > 1) indexer.unless(1, "first", rules.index_first);
    map.add("indexer", indexer.text());
  }
  return map.text();
}

std::string compressed_text(const Model& model, const LayerRules& rules) {
  const CompressedAttention usual, &compressed = *model.compressed;
  MapText map;
  map.add("q_rank", compressed.q_rank);
  map.add("output_groups", compressed.output_groups);
  map.add("output_rank", compressed.output_rank);
  map.unless(usual.chosen_rate, "chosen_rate", compressed.chosen_rate);
  map.unless(usual.all_rate, "all_rate", compressed.all_rate);
  map.add("layers", rules.compression);
  if (model.indexer) map.add("indexer", indexer_map(*model.indexer).text());
  return map.text();
}

std::string recurrence_text(const Recurrence& recurrence, const LayerRules& rules) {
  constexpr const char* names[] = {"mamba2", "gated_delta", "kimi_delta"};
  MapText map;
  map.add("rule", names[static_cast<int>(recurrence.rule)]);
  map.add("heads", recurrence.heads);
  map.unless(recurrence.heads, "key_heads", recurrence.key_heads);
  map.add("key_size", recurrence.key_size);
  map.add("value_size", recurrence.value_size);
  map.unless(4, "convolution", recurrence.convolution);
  map.when(recurrence.convolution_bias, "convolution_bias");
  map.unless(0, "gate_rank", recurrence.gate_rank);
  map.unless(0, "decay_rank", recurrence.decay_rank);
  map.unless(64, "chunk", recurrence.chunk);
  map.unless(0, "attention_every", rules.attention_every);
  map.unless(0, "attention_last", rules.attention_last);
  return map.text();
}

std::string experts_text(const Experts& experts, const LayerRules& rules) {
  MapText map;
  map.add("experts", experts.count);
  map.add("experts_per_token", experts.per_token);
  map.add("d_ff", experts.width);
  map.unless(0, "latent", experts.latent);
  map.unless(0, "shared_experts", experts.shared);
  if (experts.shared > 0) map.unless(experts.width, "shared_d_ff", experts.shared_width);
  map.unless(0, "dense_first", rules.dense_first);
  map.unless(1, "every", rules.experts_every);
  map.unless(1, "groups", experts.groups);
  map.unless(experts.groups, "groups_per_token", experts.groups_per_token);
  map.when(experts.shared_gate, "shared_gate");
  map.when(experts.biases, "biases");
  map.when(experts.score_bias, "score_bias");
  map.unless(0, "hash_layers", experts.hash_layers);
  return map.text();
}

std::string window_text(const WindowRule& window) {
  MapText map;
  map.add("tokens", window.span);
  if (window.reach == AttentionReach::chunked) map.add("kind", "chunked");
  map.unless(0, "full_every", window.full_every);
  map.unless(0, "full_first", window.full_first);
  return map.text();
}

void write_switches(const Model& model, BlockText& text) {
  constexpr const char* norms[] = {"none", "rms", "layer_norm", "layer_norm_no_bias"};
  if (model.norm != NormKind::rms) text.line("norm", norms[static_cast<int>(model.norm)]);
  text.unless(2, "norms_per_layer", model.norms_per_layer);
  if (!model.gated) text.line("mlp", "plain");
  if (!model.final_norm) text.line("final_norm", "false");
  if (!model.rotary) text.line("rotary", "false");
  text.when(model.tied_embeddings, "tied_embeddings");
  text.when(model.qkv_bias, "qkv_bias");
  text.when(model.attention_output_bias, "attention_output_bias");
  text.when(model.mlp_bias, "mlp_bias");
  if (model.qk_norm != QkNorm::none) text.line("qk_norm", model.qk_norm == QkNorm::per_head ? "true" : "full_width");
  text.when(model.attention_sinks, "attention_sinks");
  text.when(model.attention_gate, "attention_gate");
  text.when(model.parallel_residual, "parallel_residual");
  text.unless(0, "learned_positions", model.learned_positions);
}

}  // namespace

std::optional<std::string> block_of(const Model& model) {
  BlockText text;
  if (!model.attention) {
    text.line("type", "two-matmul");
    text.line("layers", model.layers);
    text.line("d_model", model.d_model);
    text.line("d_ff", model.d_ff);
    return text.take();
  }
  const auto rules = rules_of(model);
  if (!rules) return std::nullopt;
  text.line("layers", model.layers);
  if (!rules->letters.empty()) text.line("layer_pattern", "\"" + rules->letters + "\"");
  text.line("d_model", model.d_model);
  if (has_dense_layer(model)) text.line("d_ff", model.d_ff);
  text.line("heads", model.heads);
  if (!model.latent) {
    text.unless(model.heads, "kv_heads", model.kv_heads);
    text.line("head_size", model.head_size);
  }
  text.line("vocabulary", model.vocabulary);
  write_switches(model, text);
  if (model.full_heads) {
    MapText map;
    map.add("kv_heads", model.full_heads->kv_heads);
    map.add("head_size", model.full_heads->head_size);
    map.when(model.full_heads->values_are_keys, "values_are_keys");
    text.line("full_heads", map.text());
  }
  if (model.compressed) text.line("compressed_attention", compressed_text(model, *rules));
  text.unless(1, "residual_streams", model.streams);
  if (model.latent) text.line("latent_attention", latent_text(model, *rules));
  if (model.recurrence) text.line("recurrence", recurrence_text(*model.recurrence, *rules));
  if (rules->window.span > 0) text.line("window", window_text(rules->window));
  if (model.experts) text.line("moe", experts_text(*model.experts, *rules));
  text.unless(0, "mtp_modules", model.mtp_modules);
  if (!model.mtp_layers.empty()) {
    std::string letters;
    for (const LayerKind& kind : model.mtp_layers) {
      if (kind.mixer != Mixer::none) letters += kind.mixer == Mixer::recurrence ? 'M' : '*';
      if (kind.mlp) letters += kind.experts ? 'E' : '-';
    }
    text.line("mtp_pattern", "\"" + letters + "\"");
  }
  return text.take();
}

}  // namespace lockstep::workloads
