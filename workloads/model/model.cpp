#include "workloads/model/model.hpp"

#include <algorithm>
#include <array>

#include "workloads/model/model_weights_private.hpp"

namespace lockstep::workloads {
namespace {

/// Biases of latent attention stand where the width is not yet that of the heads.
std::int64_t attention_biases(const Model& model, const LayerKind& kind) {
  const HeadSizes size = head_sizes(model, kind);
  const std::int64_t kv_heads = model.has_full_heads(kind) ? model.full_heads->kv_heads : model.kv_heads;
  const std::int64_t qkv = model.latent ? model.latent->q_rank + model.latent->kv_rank + model.latent->rope_head_size
                                        : size.query * (model.heads + 2 * kv_heads);
  return when(model.qkv_bias, qkv) + when(model.attention_output_bias, model.d_model) +
         when(model.attention_sinks, model.heads);
}

std::int64_t mlp_biases(const Model& model, std::int64_t width) {
  return (model.gated ? 2 : 1) * width + model.d_model;
}

std::int64_t norm_width(const Model& model) {
  switch (model.norm) {
    case NormKind::none: return 0;
    case NormKind::rms:
    case NormKind::layer_norm_no_bias: return model.d_model;
    case NormKind::layer_norm: return 2 * model.d_model;
  }
  return 0;
}

/// Norms inside attention: of queries and keys, of the latents, and the indexer's layer norm.
std::int64_t inner_norms(const Model& model, const LayerKind& kind) {
  const std::int64_t head_size = head_sizes(model, kind).query;
  std::int64_t weights = 0;
  if (model.qk_norm == QkNorm::per_head) weights += 2 * head_size;
  if (model.qk_norm == QkNorm::full_width) weights += head_size * (model.heads + model.kv_heads);
  if (model.latent) weights += model.latent->q_rank + model.latent->kv_rank;
  if (model.compressed) {
    weights += model.compressed->q_rank + head_size * (kind.compression == Compression::none ? 1 : 2);
    if (has_own_indexer(model, kind)) weights += model.indexer->head_size;
  } else if (has_own_indexer(model, kind)) {
    weights += 2 * model.indexer->head_size;
  }
  return weights;
}

/// A number for each place of a token in an entry and each number of its values.
std::int64_t entry_positions(const Model& model, const LayerKind& kind) {
  if (!model.compressed) return 0;
  switch (kind.compression) {
    case Compression::none: return 0;
    case Compression::all: return model.compressed->all_rate * model.head_size;
    case Compression::chosen:
      return model.compressed->chosen_rate * compressed_series * (model.head_size + model.indexer->head_size);
  }
  return 0;
}

/// Hyper-connections of one layer: for each part a matrix out of all streams, an offset for each number of the mix, and
/// a scale for each of its three kinds (read, write, carried over).
std::int64_t stream_parameters(const Model& model, const LayerKind& kind) {
  if (model.streams == 1) return 0;
  return parts_of(kind) * (stream_mix(model) * (model.streams * model.d_model + 1) + 3);
}

/// Before the head streams are only read: an offset for each and one scale.
std::int64_t stream_head(const Model& model) {
  return when(model.streams > 1, model.streams * (model.streams * model.d_model + 1) + 1);
}

void count_mixer(const Model& model, const LayerKind& kind, LayerParameters& count) {
  if (!model.attention || kind.mixer == Mixer::none) return;
  if (kind.mixer == Mixer::attention) {
    count.attention = attention_weights(model, kind) + attention_biases(model, kind) + indexer_weights(model, kind) +
                      entry_positions(model, kind);
    count.norms += inner_norms(model, kind);
  } else if (model.recurrence) {
    count.recurrence = recurrence_matrices(*model.recurrence, model.d_model) + recurrence_vectors(*model.recurrence);
    count.norms += recurrence_norm(*model.recurrence);
  }
}

void count_experts(const Model& model, LayerParameters& count) {
  const Experts& experts = *model.experts;
  const std::int64_t expert = expert_weights(model) + when(experts.biases, mlp_biases(model, experts.width));
  count.routed_experts = experts.count * expert;
  count.active_experts = experts.per_token * expert;
  count.shared_experts =
      experts.shared * mlp_weights(model, experts.shared_width) + when(experts.shared_gate, model.d_model);
  count.router = experts.count * (model.d_model + when(experts.biases, 1)) + expert_latent_weights(model);
  count.score_bias = when(experts.score_bias, experts.count);
}

constexpr std::array summed_parts{
    &LayerParameters::attention,      &LayerParameters::recurrence,     &LayerParameters::mlp,
    &LayerParameters::routed_experts, &LayerParameters::active_experts, &LayerParameters::shared_experts,
    &LayerParameters::router,         &LayerParameters::norms,          &LayerParameters::streams,
    &LayerParameters::score_bias};

}  // namespace

LayerSequence layer_sequence(const Model& model) {
  LayerSequence sequence;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const LayerKind kind = model.layer(i);
    const auto found = std::find(sequence.kinds.begin(), sequence.kinds.end(), kind);
    const auto id = static_cast<LayerKindId>(found - sequence.kinds.begin());
    if (found == sequence.kinds.end()) {
      sequence.kinds.push_back(kind);
      sequence.counts.push_back(0);
    }
    ++sequence.counts[id];
    sequence.order.push_back(id);
  }
  return sequence;
}

std::vector<LayerKind> prediction_layers(const Model& model) {
  if (!model.mtp_layers.empty() || model.layers == 0) return model.mtp_layers;
  LayerKind last = model.layer(model.layers - 1);
  last.compression = Compression::none;
  return {last};
}

LayerParameters count_layer(const Model& model, const LayerKind& kind) {
  LayerParameters count;
  const bool both = kind.mixer != Mixer::none && kind.mlp;
  count.norms = (both ? model.norms_per_layer : model.norms_per_layer / 2) * norm_width(model);
  count.streams = stream_parameters(model, kind);
  count_mixer(model, kind, count);
  if (!kind.mlp) return count;
  if (kind.experts && model.experts) {
    count_experts(model, count);
  } else {
    count.mlp = mlp_weights(model, model.d_ff) + when(model.mlp_bias, mlp_biases(model, model.d_ff));
  }
  return count;
}

ParameterCount count_parameters(const Model& model) {
  const std::int64_t vocabulary_matrix = model.vocabulary * model.d_model;
  ParameterCount sum;
  sum.embedding = vocabulary_matrix;
  sum.positions = model.learned_positions * model.d_model;
  sum.lm_head = when(!model.tied_embeddings, vocabulary_matrix);
  sum.norms = when(model.final_norm, norm_width(model));
  sum.streams = stream_head(model);
  const LayerSequence sequence = layer_sequence(model);
  for (const LayerKindId i : sequence.kinds.ids()) {
    const LayerParameters layer = count_layer(model, sequence.kinds[i]);
    for (const auto part : summed_parts) sum.*part += sequence.counts[i] * layer.*part;
  }
  if (model.experts && model.experts->score_bias)
    sum.score_bias -= std::min(model.experts->hash_layers, model.layers) * model.experts->count;
  if (model.mtp_modules > 0 && model.layers > 0) {
    sum.mtp = model.mtp_modules * (3 * norm_width(model) + 2 * model.d_model * model.d_model + stream_head(model));
    for (const LayerKind& kind : prediction_layers(model)) {
      const LayerParameters layer = count_layer(model, kind);
      sum.mtp += model.mtp_modules * layer.total();
      sum.score_bias += model.mtp_modules * layer.score_bias;
    }
  }
  return sum;
}

std::int64_t kv_width(const Model& model, const LayerKind& kind) {
  if (!model.attention || kind.mixer != Mixer::attention) return 0;
  if (model.has_full_heads(kind)) {
    return (model.full_heads->values_are_keys ? 1 : 2) * model.full_heads->kv_heads * model.full_heads->head_size;
  }
  if (model.compressed) {
    const std::int64_t rate = model.compressed->rate(kind.compression);
    const auto share = [&](std::int64_t numbers) { return (numbers + rate - 1) / rate; };
    return model.head_size + (rate > 0 ? share(model.head_size) : 0) +
           (has_own_indexer(model, kind) ? share(model.indexer->head_size) : 0);
  }
  if (!model.latent) return 2 * model.kv_heads * model.head_size;
  return model.latent->kv_rank + model.latent->rope_head_size +
         (has_own_indexer(model, kind) ? model.indexer->head_size : 0);
}

std::int64_t kv_width_of_layers(const Model& model) {
  const LayerSequence sequence = layer_sequence(model);
  std::int64_t width = 0;
  for (const LayerKindId i : sequence.kinds.ids()) width += sequence.counts[i] * kv_width(model, sequence.kinds[i]);
  return width;
}

}  // namespace lockstep::workloads
