/// Parts of a model's block that say how layers differ: indexers, heads of layers that see all tokens, recurrences, and
/// letters for the layers.
#include <algorithm>

#include "workloads/model/layer_pattern.hpp"
#include "workloads/model/model_limits.hpp"
#include "workloads/model/model_yaml_private.hpp"

namespace lockstep::workloads {
namespace {

constexpr auto letters_expected = "letters M (recurrence), * (attention), - (dense MLP) and E (experts)";

bool any_layer(const Model& model, bool (*has)(const LayerKind&)) {
  const auto& kinds = model.layer_kinds;
  return kinds.empty() ? has(LayerKind{}) : std::any_of(kinds.begin(), kinds.end(), has);
}

bool recurs(const LayerKind& kind) { return kind.mixer == Mixer::recurrence; }
bool has_experts(const LayerKind& kind) { return kind.experts; }

}  // namespace

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

std::size_t choice_or_first(const YamlView& block, std::string_view key, const std::vector<std::string>& words) {
  const YamlView value = block[key];
  return value.exists() ? value.choice(words) : 0;
}

namespace {

SparseIndexer indexer_sizes(const YamlView& block) {
  return {.heads = required_size(block, "heads", 1, most_size),
          .head_size = required_size(block, "head_size", 1, most_size),
          .top_k = required_size(block, "top_k", 1, most_size)};
}

void read_indexer_sizes(const YamlView& block, Model& model) {
  if (!block.exists() || !block.expect_map("heads, head_size, top_k")) return;
  model.indexer = indexer_sizes(block);
  block.refuse_unknown_keys();
}

}  // namespace

void read_indexer(const YamlView& block, Model& model) {
  if (!block.exists() || !block.expect_map("heads, head_size, top_k, ...")) return;
  model.indexer = indexer_sizes(block);
  const std::int64_t every = size_or(block, "every", 1, 1);
  const std::int64_t first = size_or(block, "first", 1, 1);
  block.refuse_unknown_keys();
  if (every > 1)
    spread_index([&](std::int64_t layer) { return layer < first || (layer - first + 1) % every == 0; }, model);
}

void read_compressed_attention(const YamlView& block, Model& model) {
  if (!block.exists() || !block.expect_map("q_rank, output_groups, output_rank, layers, indexer, ...")) return;
  CompressedAttention compressed;
  compressed.q_rank = required_size(block, "q_rank", 1, most_size);
  compressed.output_groups = required_size(block, "output_groups", 1, most_size);
  compressed.output_rank = required_size(block, "output_rank", 1, most_size);
  compressed.chosen_rate = size_or(block, "chosen_rate", 1, compressed.chosen_rate);
  compressed.all_rate = size_or(block, "all_rate", 1, compressed.all_rate);
  const YamlView letters = block.require("layers", "a letter for each layer: w (window), c (chosen), a (all entries)");
  if (letters.exists() && model.layers > 0 && !spread_compression(letters.text(), model))
    letters.problem("`" + letters.text().substr(0, 80) + "` does not say what each of " + std::to_string(model.layers) +
                        " layers sees",
                    "a letter for each layer: w (window), c (chosen entries), a (all entries)");
  read_indexer_sizes(block["indexer"], model);
  block.refuse_unknown_keys();
  model.compressed = compressed;
}

void read_full_heads(const YamlView& block, Model& model) {
  if (!block.exists() || !block.expect_map("kv_heads, head_size, values_are_keys")) return;
  FullHeads heads;
  heads.kv_heads = required_size(block, "kv_heads", 1, most_size);
  heads.head_size = required_size(block, "head_size", 1, most_size);
  heads.values_are_keys = flag_or(block, "values_are_keys", false);
  block.refuse_unknown_keys();
  if (model.latent) block.problem("latent attention has its own sizes", "no such key");
  model.full_heads = heads;
}

bool read_layer_pattern(const YamlView& letters, Model& model) {
  if (!letters.exists()) return false;
  const std::string text = letters.text();
  if (text.empty()) return false;
  const std::vector<LayerKind> kinds = layers_of_letters(text);
  if (kinds.empty()) {
    letters.problem("`" + text.substr(0, 80) + "` has other letters", letters_expected);
    return false;
  }
  if (model.layers > 0 && std::ssize(kinds) != model.layers) {
    letters.problem(std::to_string(kinds.size()) + " letters for " + std::to_string(model.layers) + " layers",
                    "one for each layer");
    return false;
  }
  if (!model.layer_kinds.empty()) {
    letters.problem(model.compressed ? "compressed attention says of each layer what it sees"
                                     : "an indexer that layers share needs attention in all of them",
                    model.compressed ? "no layer_pattern" : "no layer_pattern, or no indexer.every");
    return false;
  }
  model.layer_kinds.assign(kinds.begin(), kinds.end());
  return true;
}

void read_recurrence(const YamlView& block, bool listed, Model& model) {
  if (!block.exists() || !block.expect_map("rule, heads, key_heads, key_size, value_size, ...")) return;
  constexpr Recurrence::Rule rules[] = {Recurrence::Rule::mamba2, Recurrence::Rule::gated_delta,
                                        Recurrence::Rule::kimi_delta};
  Recurrence recurrence;
  const YamlView rule = block.require("rule", "mamba2, gated_delta or kimi_delta");
  if (rule.exists()) recurrence.rule = rules[rule.choice({"mamba2", "gated_delta", "kimi_delta"})];
  recurrence.heads = required_size(block, "heads", 1, most_size);
  recurrence.key_heads = size_or(block, "key_heads", 1, recurrence.heads);
  recurrence.key_size = required_size(block, "key_size", 1, most_size);
  recurrence.value_size = required_size(block, "value_size", 1, most_size);
  recurrence.convolution = size_or(block, "convolution", 1, 4);
  recurrence.convolution_bias = flag_or(block, "convolution_bias", false);
  recurrence.gate_rank = size_or(block, "gate_rank", 1, 0);
  const YamlView decay_rank = block["decay_rank"];
  recurrence.decay_rank = size_or(block, "decay_rank", 1, 0);
  if (decay_rank.exists() && recurrence.rule != Recurrence::Rule::kimi_delta)
    decay_rank.problem("this rule has one decay for each head", "rule: kimi_delta");
  if (const YamlView chunk = block["chunk"]; chunk.exists()) recurrence.chunk = chunk.integer(1, most_chunk);
  const YamlView every = block["attention_every"], last = block["attention_last"];
  if (listed) {
    for (const auto& key : {every, last}) {
      if (key.exists()) key.problem("layer_pattern says which layers have attention", "no such key");
    }
  } else {
    const std::int64_t step = size_or(block, "attention_every", 0, 0), at_end = size_or(block, "attention_last", 0, 0);
    spread_recurrence(
        [&](std::int64_t layer) { return layer >= model.layers - at_end || (step > 0 && (layer + 1) % step == 0); },
        model);
  }
  block.refuse_unknown_keys();
  check_recurrence(recurrence, block);
  model.recurrence = recurrence;
}

void read_mtp_pattern(const YamlView& letters, Model& model) {
  if (!letters.exists()) return;
  const std::string text = letters.text();
  if (text.empty()) return;
  model.mtp_layers = prediction_of_letters(text);
  if (model.mtp_layers.empty()) letters.problem("`" + text.substr(0, 80) + "` has other letters", letters_expected);
  if (std::ssize(model.mtp_layers) > most_layers)
    letters.problem("too many letters", "at most " + std::to_string(most_layers));
  if (model.mtp_modules == 0) letters.problem("there are no prediction modules", "mtp_modules as well");
}

void check_layer_kinds(const YamlView& block, const Model& model) {
  if (model.layers == 0) return;
  if (any_layer(model, recurs) && !model.recurrence)
    block["layer_pattern"].problem("layers with a recurrence have no sizes", "recurrence: {rule: mamba2, heads: ...}");
  if (any_layer(model, has_experts) && !model.experts)
    block["layer_pattern"].problem("layers with experts have no sizes",
                                   "moe: {experts: ..., experts_per_token: ..., d_ff: ...}");
  if (model.recurrence && !any_layer(model, recurs))
    block["recurrence"].problem("no layer is left for the recurrence", "layers without attention");
  for (const LayerKind& kind : model.mtp_layers) {
    if ((recurs(kind) && !model.recurrence) || (kind.experts && !model.experts))
      return block["mtp_pattern"].problem("a layer has no sizes", "recurrence or moe");
  }
}

}  // namespace lockstep::workloads
