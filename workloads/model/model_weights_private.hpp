#pragma once
/// Weights of the parts of one layer, which both the count of parameters and that of FLOPs need.
#include "workloads/model/model.hpp"

namespace lockstep::workloads {

constexpr std::int64_t when(bool condition, std::int64_t value) { return condition ? value : 0; }

/// Of one head of a layer's queries (and keys), and of its values.
struct HeadSizes {
  std::int64_t query = 0;
  std::int64_t value = 0;
};
[[nodiscard]] HeadSizes head_sizes(const Model& model, const LayerKind& kind);

[[nodiscard]] inline bool has_own_indexer(const Model& model, const LayerKind& kind) {
  if (!model.indexer) return false;
  return model.compressed ? kind.compression == Compression::chosen : !kind.shared_index;
}
/// Mixer and MLP, as far as a layer has them.
[[nodiscard]] constexpr std::int64_t parts_of(const LayerKind& kind) {
  return (kind.mixer != Mixer::none ? 1 : 0) + (kind.mlp ? 1 : 0);
}

[[nodiscard]] std::int64_t attention_weights(const Model& model, const LayerKind& kind);
/// Those that make compressed entries: values and weights, both twice where entries overlap.
[[nodiscard]] std::int64_t compressor_weights(const Model& model, const LayerKind& kind);
/// Numbers of the streams' mix out of which one part of a layer reads and writes them.
[[nodiscard]] constexpr std::int64_t stream_mix(const Model& model) { return model.streams * (model.streams + 2); }
/// 0 where a layer has no indexer of its own.
[[nodiscard]] std::int64_t indexer_weights(const Model& model, const LayerKind& kind);
[[nodiscard]] std::int64_t mlp_weights(const Model& model, std::int64_t width);
/// Matrices of one routed expert.
[[nodiscard]] std::int64_t expert_weights(const Model& model);
/// Down to the latent of routed experts and up again, which all of them share; 0 without a latent.
[[nodiscard]] std::int64_t expert_latent_weights(const Model& model);

}  // namespace lockstep::workloads
