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
    kind.experts = here(index++);
    if (kind.experts) ++count;
  }
  return count;
}

bool has_dense_layer(const Model& model) {
  return model.layer_kinds.empty() || std::any_of(model.layer_kinds.begin(), model.layer_kinds.end(),
                                                  [](const auto& kind) { return !kind.experts; });
}

void drop_plain_layer_kinds(Model& model) {
  const auto plain = [](const LayerKind& kind) { return kind == LayerKind{}; };
  if (std::all_of(model.layer_kinds.begin(), model.layer_kinds.end(), plain)) model.layer_kinds.clear();
}

}  // namespace lockstep::workloads
