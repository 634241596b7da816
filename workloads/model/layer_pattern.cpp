#include "workloads/model/layer_pattern.hpp"

#include <algorithm>

namespace lockstep::workloads {
namespace {

/// The kinds of the layers, layer by layer; none if the number of layers could not be read.
Indexed<LayerId, LayerKind>& listed_kinds(Model& model) {
  model.layer_kinds.resize(std::max<std::int64_t>(model.layers, 0));
  return model.layer_kinds;
}

}  // namespace

void spread_window(const WindowRule& rule, Model& model) {
  std::int64_t index = 0;
  for (LayerKind& kind : listed_kinds(model)) {
    if (kind.mixer != Mixer::attention) {
      ++index;
      continue;
    }
    const bool full = index < rule.full_first || (rule.full_every > 0 && (index + 1) % rule.full_every == 0);
    kind.reach = full ? AttentionReach::full : rule.reach;
    kind.span = full ? 0 : rule.span;
    ++index;
  }
}

std::int64_t spread_experts(const std::function<bool(std::int64_t)>& here, Model& model) {
  std::int64_t index = 0;
  std::int64_t count = 0;
  for (LayerKind& kind : listed_kinds(model)) {
    kind.experts = here(index++) && kind.mlp;
    if (kind.experts) ++count;
  }
  return count;
}

std::vector<LayerKind> layers_of_letters(std::string_view letters) {
  std::vector<LayerKind> kinds;
  for (const char letter : letters) {
    LayerKind kind;
    switch (letter) {
      case 'M': kind.mixer = Mixer::recurrence; break;
      case '*': break;
      case '-':
      case 'E': kind.mixer = Mixer::none; break;
      default: return {};
    }
    kind.mlp = kind.mixer == Mixer::none;
    kind.experts = letter == 'E';
    kinds.push_back(kind);
  }
  return kinds;
}

std::vector<LayerKind> prediction_of_letters(std::string_view letters) {
  std::vector<LayerKind> layers;
  for (const LayerKind& kind : layers_of_letters(letters)) {
    if (kind.mixer == Mixer::none && !layers.empty() && !layers.back().mlp) {
      layers.back().mlp = true;
      layers.back().experts = kind.experts;
    } else {
      layers.push_back(kind);
    }
  }
  return layers;
}

void spread_recurrence(const std::function<bool(std::int64_t)>& attends, Model& model) {
  std::int64_t index = 0;
  for (LayerKind& kind : listed_kinds(model)) kind.mixer = attends(index++) ? Mixer::attention : Mixer::recurrence;
}

void spread_index(const std::function<bool(std::int64_t)>& own, Model& model) {
  std::int64_t index = 0;
  for (LayerKind& kind : listed_kinds(model)) kind.shared_index = !own(index++);
}

namespace {

constexpr std::string_view compression_letters = "wca";  // in the order of Compression

}  // namespace

char letter_of(Compression compression) { return compression_letters[static_cast<std::size_t>(compression)]; }

bool spread_compression(std::string_view letters, Model& model) {
  if (std::ssize(letters) != model.layers || letters.find_first_not_of(compression_letters) != std::string_view::npos)
    return false;
  std::size_t index = 0;
  for (LayerKind& kind : listed_kinds(model))
    kind.compression = static_cast<Compression>(compression_letters.find(letters[index++]));
  return true;
}

bool has_dense_layer(const Model& model) {
  return model.layer_kinds.empty() || std::any_of(model.layer_kinds.begin(), model.layer_kinds.end(),
                                                  [](const auto& kind) { return kind.mlp && !kind.experts; });
}

void drop_plain_layer_kinds(Model& model) {
  const auto plain = [](const LayerKind& kind) { return kind == LayerKind{}; };
  if (std::all_of(model.layer_kinds.begin(), model.layer_kinds.end(), plain)) model.layer_kinds.clear();
}

}  // namespace lockstep::workloads
