#pragma once
/// The shape of a model: what the simulator needs to know of a dense decoder, and its exact
/// parameter count. Catalog: workloads/catalog/*.yaml (one file per model, with its source);
/// import: import_hf.hpp.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/yaml_view.hpp"

namespace lockstep {

enum class NormKind { none, rms, layer_norm };  ///< none: weightless (OLMo); layer_norm: weight and bias

/// A dense Transformer decoder, or (attention = false) the book's stack of two-matmul layers
/// In[B,D] Win[D,F] Wout[F,D] without attention, gate, norms or vocabulary.
struct Model {
  std::string name;
  std::string source;
  std::string model_type;    ///< Hugging Face model_type, "transformer" or "two-matmul"
  std::int64_t layers = 0;   ///< L
  std::int64_t d_model = 0;  ///< D
  std::int64_t d_ff = 0;     ///< F
  bool attention = true;
  std::int64_t heads = 0;       ///< N
  std::int64_t kv_heads = 0;    ///< K
  std::int64_t head_size = 0;   ///< H
  std::int64_t vocabulary = 0;  ///< V; 0: no embedding and no unembedding
  bool gated = true;            ///< three MLP matrices (gate, up, down) instead of two
  bool tied_embeddings = false;
  bool qkv_bias = false;
  bool attention_output_bias = false;
  bool mlp_bias = false;
  NormKind norm = NormKind::rms;
  int norms_per_layer = 2;
  bool final_norm = true;
  std::int64_t learned_positions = 0;  ///< rows of a learned position table
  bool qk_norm = false;                ///< per layer an RMS norm of H for the queries and one for the keys

  friend bool operator==(const Model&, const Model&) = default;
};

/// Parameters by part; total is their sum. All counts are of one copy of the model.
struct ParameterCount {
  std::int64_t embedding = 0;  ///< V D (+ learned positions)
  std::int64_t attention = 0;  ///< all layers: D N H + 2 D K H + N H D (+ biases)
  std::int64_t mlp = 0;        ///< all layers: 3 D F gated, else 2 D F (+ biases)
  std::int64_t norms = 0;      ///< all layers and the final one: D each, 2 D with bias, (+ 2 H qk_norm)
  std::int64_t lm_head = 0;    ///< V D, 0 when tied
  [[nodiscard]] std::int64_t total() const { return embedding + attention + mlp + norms + lm_head; }
};
/// Exact for every model that read_model, load_model or import_hf_config accepted (model_limits.hpp).
[[nodiscard]] ParameterCount count_parameters(const Model& model);

/// Matmul FLOPs of one forward pass per token: 2 x (attention + mlp weights) + 2 V D for the
/// unembedding (tied or not) + attention scores and values 4 T N H per layer, halved when causal.
/// Backward is twice that. Biases, norms and the embedding look-up count nothing.
[[nodiscard]] double forward_flops_per_token(const Model& model, std::int64_t sequence_length, bool causal);

/// Reads an inline model block or a catalog file; problems go to the view's sink.
///   layers, d_model, d_ff            required
///   heads, vocabulary                required of a transformer; vocabulary 0: no embeddings
///   type                             transformer | two-matmul (takes only the three sizes and source)
///   kv_heads, head_size              default: heads, d_model / heads
///   mlp                              gated (default) | plain
///   norm, norms_per_layer, final_norm  rms (default) | layer_norm | none, 2, true
///   tied_embeddings, qkv_bias, attention_output_bias, mlp_bias, qk_norm  default: false
///   learned_positions, source        default: 0, empty
[[nodiscard]] Model read_model(const YamlView& view, std::string_view name);
[[nodiscard]] std::string to_string(const Model& model);

/// Names of the catalog's files without .yaml, sorted; empty if the folder cannot be read.
[[nodiscard]] std::vector<std::string> model_names(const std::filesystem::path& catalog);
[[nodiscard]] Model load_model(const std::filesystem::path& catalog, std::string_view name, Problems& problems);

}  // namespace lockstep
