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

[[nodiscard]] std::int64_t attention_weights(const Model& model, const LayerKind& kind);
/// 0 where a layer has no indexer of its own.
[[nodiscard]] std::int64_t indexer_weights(const Model& model, const LayerKind& kind);
[[nodiscard]] std::int64_t mlp_weights(const Model& model, std::int64_t width);
/// Matrices of one routed expert.
[[nodiscard]] std::int64_t expert_weights(const Model& model);
/// Down to the latent of routed experts and up again, which all of them share; 0 without a latent.
[[nodiscard]] std::int64_t expert_latent_weights(const Model& model);

}  // namespace lockstep::workloads
