/// FLOPs of a model's equations, and the matrices that they multiply with.
#include <algorithm>
#include <cmath>

#include "workloads/model/model_weights_private.hpp"

namespace lockstep::workloads {
namespace {

double real(std::int64_t value) { return static_cast<double>(value); }

/// Weights that one token is multiplied with in a layer's MLP or experts.
std::int64_t passed_mlp_weights(const Model& model, const LayerKind& kind) {
  if (!kind.mlp) return 0;
  if (!kind.experts || !model.experts) return mlp_weights(model, model.d_ff);
  const Experts& experts = *model.experts;
  return model.d_model * experts.count + expert_latent_weights(model) + experts.per_token * expert_weights(model) +
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

/// Scores and values of one layer; to tokens that an indexer chose, with the latents in place of keys and values.
double score_flops(const Model& model, const LayerKind& kind, double tokens, bool causal) {
  if (model.compressed) {
    const double most = kind.compression == Compression::chosen ? real(model.indexer->top_k) : tokens;
    const double entries = kind.compression == Compression::none
                               ? 0.0
                               : seen_entries(most, tokens, model.compressed->rate(kind.compression), causal);
    return 2.0 * (attended_tokens(kind, tokens, causal) + entries) * real(model.heads * 2 * model.head_size);
  }
  if (model.indexer && model.latent) {
    const double width = real(model.heads) * real(2 * model.latent->kv_rank + model.latent->rope_head_size);
    return 2.0 * chosen_tokens(real(model.indexer->top_k), tokens, causal) * width;
  }
  const HeadSizes size = head_sizes(model, kind);
  return 2.0 * attended_tokens(kind, tokens, causal) * real(model.heads * (size.query + size.value));
}

/// Of one layer and token; the first without, the second with what training an indexer takes.
struct LayerFlops {
  double forward = 0;
  double training = 0;
};

/// The indexer's projections have no gradient of their input, so they cost twice their forward. Scores are computed for
/// all tokens; their gradients, and the attention's scores that they are to approach, for the chosen ones.
LayerFlops indexer_flops(const Model& model, const LayerKind& kind, double tokens, bool causal) {
  if (!has_own_indexer(model, kind)) return {};
  const std::int64_t rate = model.compressed ? model.compressed->chosen_rate : 1;
  const double projections = 2.0 * real(indexer_weights(model, kind));
  const double score = real(model.indexer->heads * (model.indexer->head_size + 1));
  const double scored = model.compressed ? seen_entries(tokens, tokens, rate, causal)
                        : causal         ? (tokens + 1) / 2
                                         : tokens;
  const double chosen = model.compressed ? seen_entries(real(model.indexer->top_k), tokens, rate, causal)
                                         : chosen_tokens(real(model.indexer->top_k), tokens, causal);
  const double forward = projections + 2.0 * scored * score;
  const std::int64_t key = model.compressed ? model.head_size : model.latent->kv_rank + model.latent->rope_head_size;
  const double target = 2.0 * chosen * real(model.heads * key);
  return {forward, forward + projections + 4.0 * chosen * score + target};
}

LayerFlops layer_flops(const Model& model, const LayerKind& kind, double tokens, bool causal) {
  double flops = 2.0 * real(passed_mlp_weights(model, kind));
  LayerFlops indexer;
  if (model.attention && kind.mixer == Mixer::attention) {
    flops += 2.0 * real(attention_weights(model, kind));
    if (tokens > 0) {
      flops += score_flops(model, kind, tokens, causal);
    }
    indexer = indexer_flops(model, kind, tokens, causal);
  } else if (model.attention && kind.mixer == Mixer::recurrence && model.recurrence) {
    flops += 2.0 * real(recurrence_matrices(*model.recurrence, model.d_model)) + counted_state_flops(*model.recurrence);
  }
  if (model.streams > 1) flops += 2.0 * real(parts_of(kind) * stream_mix(model) * model.streams * model.d_model);
  return {flops + indexer.forward, 3.0 * flops + indexer.training};
}

LayerFlops model_flops_per_token(const Model& model, std::int64_t sequence_length, bool causal) {
  const double unembedding = 2.0 * real(model.vocabulary * model.d_model);
  LayerFlops sum{unembedding, 3.0 * unembedding};
  if (model.streams > 1) {  // read as one before the final norm
    const double joined = 2.0 * real(model.streams * model.streams * model.d_model);
    sum = {sum.forward + joined, sum.training + 3.0 * joined};
  }
  const LayerSequence sequence = layer_sequence(model);
  for (const LayerKindId i : sequence.kinds.ids()) {
    const LayerFlops layer = layer_flops(model, sequence.kinds[i], real(sequence_length), causal);
    sum.forward += real(sequence.counts[i]) * layer.forward;
    sum.training += real(sequence.counts[i]) * layer.training;
  }
  return sum;
}

}  // namespace

HeadSizes head_sizes(const Model& model, const LayerKind& kind) {
  if (model.has_full_heads(kind)) return {model.full_heads->head_size, model.full_heads->head_size};
  return {model.head_size, model.latent ? model.latent->value_head_size : model.head_size};
}

/// Q and O are D x NH, K and V are D x KH; latent queries, keys and values go down to a rank and up again.
std::int64_t attention_weights(const Model& model, const LayerKind& kind) {
  if (!model.attention) return 0;
  if (model.compressed) {
    const CompressedAttention& compressed = *model.compressed;
    const std::int64_t query = compressed.q_rank * (model.d_model + model.heads * model.head_size);
    const std::int64_t output =
        compressed.output_rank * (model.heads * model.head_size + compressed.output_groups * model.d_model);
    return query + model.d_model * model.head_size + compressor_weights(model, kind) + output;
  }
  const HeadSizes size = head_sizes(model, kind);
  const std::int64_t output_and_gate = (model.attention_gate ? 2 : 1) * model.heads * size.value * model.d_model;
  if (!model.latent) {
    const std::int64_t kv_heads = model.has_full_heads(kind) ? model.full_heads->kv_heads : model.kv_heads;
    const std::int64_t keys_and_values = model.has_full_heads(kind) && model.full_heads->values_are_keys ? 1 : 2;
    return output_and_gate + model.d_model * size.query * (model.heads + keys_and_values * kv_heads);
  }
  const LatentAttention& latent = *model.latent;
  const std::int64_t query_width = model.heads * (latent.nope_head_size + latent.rope_head_size);
  const std::int64_t query =
      latent.q_rank > 0 ? latent.q_rank * (model.d_model + query_width) : model.d_model * query_width;
  const std::int64_t key_value = model.d_model * (latent.kv_rank + latent.rope_head_size) +
                                 latent.kv_rank * model.heads * (latent.nope_head_size + latent.value_head_size);
  return output_and_gate + query + key_value;
}

std::int64_t compressor_weights(const Model& model, const LayerKind& kind) {
  if (kind.compression == Compression::none) return 0;
  return (kind.compression == Compression::chosen ? compressed_series : 1) * 2 * model.d_model * model.head_size;
}

/// Queries from the latent, one key shared by all heads, and a weight for each head.
std::int64_t indexer_weights(const Model& model, const LayerKind& kind) {
  if (!has_own_indexer(model, kind)) return 0;
  const SparseIndexer& indexer = *model.indexer;
  if (model.compressed) {
    const std::int64_t keys = compressed_series * 2 * indexer.head_size;  // values and weights
    return model.compressed->q_rank * indexer.heads * indexer.head_size + model.d_model * (keys + indexer.heads);
  }
  const std::int64_t query_input = model.latent && model.latent->q_rank > 0 ? model.latent->q_rank : model.d_model;
  return query_input * indexer.heads * indexer.head_size + model.d_model * (indexer.head_size + indexer.heads);
}

/// Up and down are D x width; so is the gate.
std::int64_t mlp_weights(const Model& model, std::int64_t width) {
  return (model.gated ? 3 : 2) * model.d_model * width;
}

std::int64_t expert_weights(const Model& model) {
  const Experts& experts = *model.experts;
  return (model.gated ? 3 : 2) * (experts.latent > 0 ? experts.latent : model.d_model) * experts.width;
}

std::int64_t expert_latent_weights(const Model& model) { return 2 * model.d_model * model.experts->latent; }

double attended_tokens(const LayerKind& kind, double tokens, bool causal) {
  return seen(kind.reach, static_cast<double>(kind.span), tokens, causal);
}

double chosen_tokens(double top_k, double tokens, bool causal) {
  const double most = std::min(top_k, tokens);
  return causal && tokens > 0 ? most - most * (most - 1) / (2 * tokens) : most;
}

double seen_entries(double most, double tokens, std::int64_t rate, bool causal) {
  const double each = real(rate), entries = std::floor(tokens / each);
  if (!causal) return std::min(most, entries);
  if (entries < 1) return 0;
  const double rising = std::min(most, entries - 1);  // j entries are seen by as many tokens as one has
  const double before_last = each * (rising * (rising + 1) / 2 + (entries - 1 - rising) * most);
  return (before_last + (tokens - entries * each + 1) * std::min(most, entries)) / tokens;
}

double forward_flops_per_token(const Model& model, std::int64_t sequence_length, bool causal) {
  return model_flops_per_token(model, sequence_length, causal).forward;
}

double training_flops_per_token(const Model& model, std::int64_t sequence_length, bool causal) {
  return model_flops_per_token(model, sequence_length, causal).training;
}

Flops model_flops(const Model& model, std::int64_t sequences, std::int64_t sequence_length, bool causal) {
  return Flops(training_flops_per_token(model, sequence_length, causal) *
               static_cast<double>(sequences * sequence_length));
}

}  // namespace lockstep::workloads
