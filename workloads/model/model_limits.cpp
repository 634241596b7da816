#include "workloads/model/model_limits.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "workloads/model/layer_pattern.hpp"

namespace lockstep::workloads {
namespace {

double number(std::int64_t value) { return static_cast<double>(value); }

double roughly_attention(const Model& model) {
  if (model.compressed) {
    const CompressedAttention& compressed = *model.compressed;
    const double heads = number(model.heads) * number(model.head_size), inner = number(compressed.q_rank);
    double weights = (inner + number(compressed.output_rank)) * (number(model.d_model) + heads);
    weights += number(compressed.output_groups) * number(compressed.output_rank) * number(model.d_model);
    const double positions = number(compressed.chosen_rate) + number(compressed.all_rate) + 5.0 * number(model.d_model);
    const double index = model.indexer ? number(model.indexer->head_size) : 0.0;
    weights += 2.0 * positions * (number(model.head_size) + index);
    return weights + (model.indexer ? number(model.indexer->heads) * (inner * index + number(model.d_model)) : 0.0);
  }
  if (!model.latent) {
    const double full = model.full_heads ? number(model.full_heads->head_size) : 0.0;
    const double heads = 2.0 * number(model.heads) + number(model.kv_heads) + 1.0 +
                         (model.full_heads ? number(model.full_heads->kv_heads) : 0.0);
    return 2.0 * number(model.d_model) * (number(model.head_size) + full) * heads;
  }
  const LatentAttention& latent = *model.latent;
  const double sizes = number(latent.nope_head_size) + number(latent.rope_head_size) + number(latent.value_head_size);
  const double inner = number(latent.q_rank) + number(latent.kv_rank) + number(model.d_model);
  double weights = (inner + number(model.d_model)) * (number(model.heads) * sizes + inner);
  if (model.indexer) weights += 2.0 * inner * (number(model.indexer->heads) + 1.0) * number(model.indexer->head_size);
  return weights;
}

double roughly_recurrence(const Model& model) {
  if (!model.recurrence) return 0.0;
  const Recurrence& recurrence = *model.recurrence;
  const double width = number(recurrence.key_heads) * number(recurrence.key_size) +
                       number(recurrence.heads) * (number(recurrence.value_size) + 1.0);
  const double ranks = number(recurrence.gate_rank) + number(recurrence.decay_rank) + number(recurrence.convolution);
  return 3.0 * width * (number(model.d_model) + ranks) + number(model.d_model) * ranks;
}

/// Within a small factor of the count, in floating point because the exact one might overflow.
double roughly_count(const Model& model) {
  double width = number(model.d_ff);
  if (model.experts) {
    const Experts& experts = *model.experts;
    width += number(experts.count) * (number(experts.width) + 1.0);
    width += number(experts.shared) * number(experts.shared_width) + number(experts.latent);
    width += number(experts.latent) * number(experts.count) * number(experts.width) / number(model.d_model + 1);
  }
  const double layer =
      roughly_attention(model) + roughly_recurrence(model) + number(model.d_model) * (3.0 * width + 10.0);
  const double streams = number(model.streams) * number(model.streams) * (number(model.streams) + 2.0);
  const double mixes = model.streams > 1 ? 2.0 * streams * number(model.d_model) : 0.0;
  const double rows = 2.0 * number(model.vocabulary) + number(model.learned_positions) + 2.0;
  const double mtp =
      number(model.mtp_modules) * (number(std::max<std::int64_t>(std::ssize(model.mtp_layers), 1)) * (layer + mixes) +
                                   2.0 * number(model.d_model) * number(model.d_model));
  return number(model.layers) * (layer + mixes) + rows * number(model.d_model) + mtp;
}

/// A latent key has two parts, and there is one key of each query head.
void complete_latent(Model& model) {
  model.kv_heads = model.heads;
  model.head_size = model.latent->nope_head_size + model.latent->rope_head_size;
}

void complete_heads(Model& model, const YamlView& place) {
  const std::string heads = std::to_string(model.heads);
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  for (const std::int64_t kv_heads : {model.kv_heads, model.full_heads ? model.full_heads->kv_heads : 0}) {
    if (kv_heads <= 0 || model.heads % kv_heads == 0) continue;
    place.problem(heads + " query heads do not divide evenly over " + std::to_string(kv_heads) + " key-value heads",
                  "a number of key-value heads that divides the query heads");
  }
  if (model.head_size > 0 || model.heads == 0 || model.d_model == 0) return;
  if (model.d_model % model.heads == 0) {
    model.head_size = model.d_model / model.heads;
  } else {
    place.problem("no head size given, and d_model " + std::to_string(model.d_model) + " is not a multiple of " +
                      heads + " heads",
                  "a head size, or heads that divide d_model");
  }
}

}  // namespace

bool check_experts(const Experts& experts, const YamlView& per_token, const YamlView& groups,
                   const YamlView& groups_per_token) {
  const auto say = [](std::int64_t value) { return std::to_string(value); };
  const auto refuse = [](const YamlView& place, const std::string& what, const std::string& expected) {
    place.problem(what, expected);
    return false;
  };
  if (experts.per_token > experts.count) {
    return refuse(per_token, say(experts.per_token) + " experts per token of " + say(experts.count),
                  "at most as many as there are");
  }
  if (experts.count % experts.groups != 0) {
    return refuse(groups, say(experts.count) + " experts do not divide evenly over " + say(experts.groups) + " groups",
                  "a divisor of the experts");
  }
  if (experts.groups_per_token > experts.groups) {
    return refuse(groups_per_token, say(experts.groups_per_token) + " groups per token of " + say(experts.groups),
                  "at most as many as there are");
  }
  if (experts.per_token > experts.groups_per_token * (experts.count / experts.groups)) {
    return refuse(groups_per_token,
                  say(experts.groups_per_token) + " groups hold fewer than " + say(experts.per_token) + " experts",
                  "room for all experts of a token");
  }
  return true;
}

void check_compressed(const Model& model, const YamlView& place) {
  if (model.streams > 1 && model.parallel_residual)
    place.problem("hyper-connections and a parallel residual are both there", "residual_streams or parallel_residual");
  if (!model.compressed) return;
  if (model.latent || model.full_heads || model.recurrence || model.attention_gate || model.qk_norm != QkNorm::none ||
      model.qkv_bias || model.attention_output_bias || !model.mtp_layers.empty())
    place.problem("compressed attention goes with no other form of attention, gate, bias or norm of queries and keys",
                  "compressed_attention, window and attention_sinks alone");
  if (model.kv_heads > 1)
    place.problem("compressed attention has one key for all heads, not " + std::to_string(model.kv_heads),
                  "kv_heads: 1");
  if (const std::int64_t groups = model.compressed->output_groups; groups > 0 && model.heads % groups != 0)
    place.problem(
        std::to_string(model.heads) + " heads do not divide evenly over " + std::to_string(groups) + " output groups",
        "a number of groups that divides the heads");
  bool windows = true, chosen = false;
  for (LayerId i = 0; i < model.layers; ++i) {
    windows = windows && model.layer(i).reach == AttentionReach::sliding;
    chosen = chosen || model.layer(i).compression == Compression::chosen;
  }
  if (!windows) place.problem("a layer has no window", "a sliding window in all layers, such as window: {tokens: 128}");
  if (chosen && !model.indexer)
    place.problem("nothing chooses entries", "compressed_attention.indexer: {heads: ..., head_size: ..., top_k: ...}");
}

void check_recurrence(const Recurrence& recurrence, const YamlView& place) {
  if (recurrence.key_heads > 0 && recurrence.heads % recurrence.key_heads != 0) {
    place.problem(std::to_string(recurrence.heads) + " heads do not divide evenly over " +
                      std::to_string(recurrence.key_heads) + " key heads",
                  "a number of key heads that divides the heads");
  }
  if (number(recurrence.heads) * number(recurrence.key_size) * number(recurrence.value_size) > most_state)
    place.problem("the states of one layer have more than 1e12 numbers", "heads, key_size and value_size of a layer");
}

void complete_shape(Model& model, const YamlView& place) {
  if (model.latent) {
    complete_latent(model);
  } else if (model.attention) {
    complete_heads(model, place);
  }
  drop_plain_layer_kinds(model);
  if (roughly_count(model) > most_parameters) {
    place.problem("the model has more than 1e15 parameters", "sizes whose product is a model one could train");
  }
}

}  // namespace lockstep::workloads
