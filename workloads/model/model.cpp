#include "workloads/model/model.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::workloads {
namespace {

constexpr std::int64_t when(bool condition, std::int64_t value) { return condition ? value : 0; }

/// Q and O are D x NH, K and V are D x KH; latent queries, keys and values go down to a rank and up again.
std::int64_t attention_weights(const Model& model) {
  if (!model.attention) return 0;
  if (!model.latent) return 2 * model.d_model * model.head_size * (model.heads + model.kv_heads);
  const LatentAttention& latent = *model.latent;
  const std::int64_t query_width = model.heads * (latent.nope_head_size + latent.rope_head_size);
  const std::int64_t query =
      latent.q_rank > 0 ? latent.q_rank * (model.d_model + query_width) : model.d_model * query_width;
  const std::int64_t key_value = model.d_model * (latent.kv_rank + latent.rope_head_size) +
                                 latent.kv_rank * model.heads * (latent.nope_head_size + latent.value_head_size);
  return query + key_value + model.heads * latent.value_head_size * model.d_model;
}

/// Queries from the latent, one key shared by all heads, and a weight for each head.
std::int64_t indexer_weights(const Model& model) {
  if (!model.indexer) return 0;
  const SparseIndexer& indexer = *model.indexer;
  const std::int64_t query_input = model.latent && model.latent->q_rank > 0 ? model.latent->q_rank : model.d_model;
  return query_input * indexer.heads * indexer.head_size + model.d_model * (indexer.head_size + indexer.heads);
}

/// Biases of latent attention stand where the width is not yet that of the heads.
std::int64_t attention_biases(const Model& model) {
  if (!model.attention) return 0;
  const std::int64_t qkv = model.latent ? model.latent->q_rank + model.latent->kv_rank + model.latent->rope_head_size
                                        : model.head_size * (model.heads + 2 * model.kv_heads);
  return when(model.qkv_bias, qkv) + when(model.attention_output_bias, model.d_model) +
         when(model.attention_sinks, model.heads);
}

/// Up and down are D x width; so is the gate.
std::int64_t mlp_weights(const Model& model, std::int64_t width) {
  return (model.gated ? 3 : 2) * model.d_model * width;
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
std::int64_t inner_norms(const Model& model) {
  std::int64_t weights = 0;
  if (model.qk_norm == QkNorm::per_head) weights += 2 * model.head_size;
  if (model.qk_norm == QkNorm::full_width) weights += model.head_size * (model.heads + model.kv_heads);
  if (model.latent) weights += model.latent->q_rank + model.latent->kv_rank;
  if (model.indexer) weights += 2 * model.indexer->head_size;
  return weights;
}

/// Weights that one token is multiplied with in a layer.
std::int64_t passed_weights(const Model& model, const LayerKind& kind) {
  const std::int64_t attention = attention_weights(model) + indexer_weights(model);
  if (!kind.experts || !model.experts) return attention + mlp_weights(model, model.d_ff);
  const Experts& experts = *model.experts;
  return attention + model.d_model * experts.count + experts.per_token * mlp_weights(model, experts.width) +
         experts.shared * mlp_weights(model, experts.shared_width) + when(experts.shared_gate, model.d_model);
}

/// Tokens that one of `tokens` sees on average.
double seen(AttentionReach reach, double span, double tokens, bool causal) {
  const double half = causal ? 0.5 : 1.0;
  if (reach == AttentionReach::full || span >= tokens) return tokens * half;
  // The first `span` tokens see half of them, the others all.
  if (reach == AttentionReach::sliding) return causal ? span * (1.0 - span / (2.0 * tokens)) : span;
  const double last = std::fmod(tokens, span);
  return ((tokens - last) * span + last * last) / tokens * half;
}

/// Scores and values of one layer, with the indexer's scores.
double attention_flops(const Model& model, const LayerKind& kind, double tokens, bool causal) {
  if (!model.attention) return 0.0;
  const std::int64_t value_size = model.latent ? model.latent->value_head_size : model.head_size;
  const double width = static_cast<double>(model.heads * (model.head_size + value_size));
  if (!model.indexer) return 2.0 * seen(kind.reach, static_cast<double>(kind.span), tokens, causal) * width;
  const double chosen = seen(AttentionReach::sliding, static_cast<double>(model.indexer->top_k), tokens, causal);
  const double scored = seen(AttentionReach::full, 0.0, tokens, causal);
  return 2.0 * (chosen * width + scored * static_cast<double>(model.indexer->heads * model.indexer->head_size));
}

}  // namespace

double attended_tokens(const LayerKind& kind, double tokens, bool causal) {
  return seen(kind.reach, static_cast<double>(kind.span), tokens, causal);
}

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

LayerParameters count_layer(const Model& model, const LayerKind& kind) {
  LayerParameters count;
  count.attention = attention_weights(model) + attention_biases(model) + indexer_weights(model);
  count.norms = model.norms_per_layer * norm_width(model) + inner_norms(model);
  if (!kind.experts || !model.experts) {
    count.mlp = mlp_weights(model, model.d_ff) + when(model.mlp_bias, mlp_biases(model, model.d_ff));
    return count;
  }
  const Experts& experts = *model.experts;
  const std::int64_t expert =
      mlp_weights(model, experts.width) + when(experts.biases, mlp_biases(model, experts.width));
  count.routed_experts = experts.count * expert;
  count.active_experts = experts.per_token * expert;
  count.shared_experts =
      experts.shared * mlp_weights(model, experts.shared_width) + when(experts.shared_gate, model.d_model);
  count.router = experts.count * (model.d_model + when(experts.biases, 1));
  count.score_bias = when(experts.score_bias, experts.count);
  return count;
}

ParameterCount count_parameters(const Model& model) {
  const std::int64_t vocabulary_matrix = model.vocabulary * model.d_model;
  ParameterCount sum;
  sum.embedding = vocabulary_matrix;
  sum.positions = model.learned_positions * model.d_model;
  sum.lm_head = when(!model.tied_embeddings, vocabulary_matrix);
  sum.norms = when(model.final_norm, norm_width(model));
  const LayerSequence sequence = layer_sequence(model);
  for (const LayerKindId i : sequence.kinds.ids()) {
    const LayerParameters layer = count_layer(model, sequence.kinds[i]);
    for (const auto part : {&LayerParameters::attention, &LayerParameters::mlp, &LayerParameters::routed_experts,
                            &LayerParameters::active_experts, &LayerParameters::shared_experts,
                            &LayerParameters::router, &LayerParameters::norms, &LayerParameters::score_bias}) {
      sum.*part += sequence.counts[i] * layer.*part;
    }
  }
  if (model.mtp_modules > 0 && model.layers > 0) {
    const LayerParameters layer = count_layer(model, model.layer(model.layers - 1));
    sum.mtp = model.mtp_modules * (layer.total() + 3 * norm_width(model) + 2 * model.d_model * model.d_model);
    sum.score_bias += model.mtp_modules * layer.score_bias;
  }
  return sum;
}

double forward_flops_per_token(const Model& model, std::int64_t sequence_length, bool causal) {
  double flops = 2.0 * static_cast<double>(model.vocabulary * model.d_model);
  const LayerSequence sequence = layer_sequence(model);
  for (const LayerKindId i : sequence.kinds.ids()) {
    const LayerKind& kind = sequence.kinds[i];
    const double layer = 2.0 * static_cast<double>(passed_weights(model, kind)) +
                         attention_flops(model, kind, static_cast<double>(sequence_length), causal);
    flops += static_cast<double>(sequence.counts[i]) * layer;
  }
  return flops;
}

Flops model_flops(const Model& model, std::int64_t sequences, std::int64_t sequence_length, bool causal) {
  return Flops(3 * forward_flops_per_token(model, sequence_length, causal) *
               static_cast<double>(sequences * sequence_length));
}

std::int64_t kv_width(const Model& model) {
  if (!model.attention) return 0;
  if (!model.latent) return 2 * model.kv_heads * model.head_size;
  return model.latent->kv_rank + model.latent->rope_head_size + (model.indexer ? model.indexer->head_size : 0);
}

}  // namespace lockstep::workloads
