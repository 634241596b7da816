#include "workloads/model.hpp"

#include <sstream>
#include <utility>

namespace lockstep {
namespace {

constexpr std::int64_t when(bool condition, std::int64_t value) { return condition ? value : 0; }

/// Weights of one layer's attention matrices: Q and O are D x NH, K and V are D x KH.
std::int64_t attention_weights(const Model& model) {
  return when(model.attention, 2 * model.d_model * model.head_size * (model.heads + model.kv_heads));
}

std::int64_t attention_biases(const Model& model) {
  return when(model.attention && model.qkv_bias, model.head_size * (model.heads + 2 * model.kv_heads)) +
         when(model.attention && model.attention_output_bias, model.d_model);
}

/// Up and down are D x F; so is the gate.
std::int64_t mlp_weights(const Model& model) { return (model.gated ? 3 : 2) * model.d_model * model.d_ff; }

std::int64_t mlp_biases(const Model& model) {
  return when(model.mlp_bias, (model.gated ? 2 : 1) * model.d_ff + model.d_model);
}

std::int64_t norm_width(const Model& model) {
  switch (model.norm) {
    case NormKind::none: return 0;
    case NormKind::rms: return model.d_model;
    case NormKind::layer_norm: return 2 * model.d_model;
  }
  return 0;
}

const char* norm_name(NormKind kind) {
  switch (kind) {
    case NormKind::none: return "none";
    case NormKind::rms: return "rms";
    case NormKind::layer_norm: return "layer_norm";
  }
  return "";
}

}  // namespace

ParameterCount count_parameters(const Model& model) {
  const std::int64_t vocabulary_matrix = model.vocabulary * model.d_model;
  return {
      .embedding = vocabulary_matrix + model.learned_positions * model.d_model,
      .attention = model.layers * (attention_weights(model) + attention_biases(model)),
      .mlp = model.layers * (mlp_weights(model) + mlp_biases(model)),
      .norms = (model.layers * model.norms_per_layer + (model.final_norm ? 1 : 0)) * norm_width(model) +
               when(model.qk_norm, model.layers * 2 * model.head_size),
      .lm_head = when(!model.tied_embeddings, vocabulary_matrix),
  };
}

double forward_flops_per_token(const Model& model, std::int64_t sequence_length, bool causal) {
  // A token attends to all T others, or on average to half of them.
  const double attended = static_cast<double>(sequence_length) * (causal ? 0.5 : 1.0);
  const double attention_width = static_cast<double>(when(model.attention, model.heads * model.head_size));
  const double layer_weights = static_cast<double>(attention_weights(model) + mlp_weights(model));
  return static_cast<double>(model.layers) * (2.0 * layer_weights + 4.0 * attended * attention_width) +
         2.0 * static_cast<double>(model.vocabulary * model.d_model);
}

std::string to_string(const Model& model) {
  const ParameterCount count = count_parameters(model);
  std::ostringstream out;
  out << "model " << model.name << " (" << model.model_type << "): " << count.total() << " parameters\n";
  if (!model.source.empty()) out << "  source: " << model.source << '\n';
  out << "  layers " << model.layers << ", d_model " << model.d_model << ", d_ff " << model.d_ff
      << (model.gated ? ", gated mlp" : ", plain mlp") << '\n';
  if (model.attention) {
    out << "  heads " << model.heads << ", kv_heads " << model.kv_heads << ", head_size " << model.head_size << '\n';
  }
  out << "  vocabulary " << model.vocabulary << (model.tied_embeddings ? ", tied" : "") << ", norm "
      << norm_name(model.norm) << " x " << model.norms_per_layer << '\n';
  const std::pair<const char*, bool> options[] = {
      {"qkv_bias", model.qkv_bias},     {"attention_output_bias", model.attention_output_bias},
      {"mlp_bias", model.mlp_bias},     {"qk_norm", model.qk_norm},
      {"final_norm", model.final_norm}, {"learned_positions", model.learned_positions > 0}};
  std::string present_options;
  for (const auto& [option, present] : options) {
    if (present) present_options += (present_options.empty() ? "" : ", ") + std::string(option);
  }
  out << "  options: " << (present_options.empty() ? "none" : present_options) << '\n';
  out << "  parameters: embedding " << count.embedding << ", attention " << count.attention << ", mlp " << count.mlp
      << ", norms " << count.norms << ", lm_head " << count.lm_head << '\n';
  return out.str();
}

}  // namespace lockstep
