#pragma once
/// The shape of a model: what the simulator needs to know of a decoder, and its exact parameter
/// count. Catalog: workloads/catalog/*.yaml (one file per model, with its source); import: import_hf.hpp.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/core/yaml_view.hpp"
#include "workloads/model/recurrence.hpp"

namespace lockstep::workloads {

using LayerId = std::int64_t;
enum class LayerKindId : std::int32_t {};  ///< unlike the KindId of a block, it counts layers alone

/// none: weightless (OLMo); layer_norm: weight and bias; layer_norm_no_bias: weight alone (DBRX)
enum class NormKind { none, rms, layer_norm, layer_norm_no_bias };
/// RMS norms of queries and keys. per_head: one of H for each of the two; full_width: N H and K H (OLMo 2)
enum class QkNorm { none, per_head, full_width };
/// full: all tokens; sliding: the last `span`; chunked: those of the own chunk of `span`
enum class AttentionReach { full, sliding, chunked };

/// What brings tokens together in a layer. none: the layer is an MLP alone
enum class Mixer { attention, recurrence, none };

/// What compressed attention sees beyond its window. none: nothing; chosen: the best entries of few tokens each, which
/// an indexer chooses; all: every entry of many tokens
enum class Compression { none, chosen, all };

/// In what the layers of one model differ.
struct LayerKind {
  AttentionReach reach = AttentionReach::full;
  std::int64_t span = 0;  ///< tokens of the window or chunk; 0 with full
  bool experts = false;   ///< experts in place of the dense MLP
  Mixer mixer = Mixer::attention;
  bool mlp = true;            ///< false: the layer ends with its mixer
  bool shared_index = false;  ///< with an indexer: sees the tokens that the layer before chose, and has none itself
  Compression compression = Compression::none;  ///< only with compressed attention

  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};

/// Multi-head latent attention: keys and values come out of kv_rank numbers a token and one rotary key
/// of rope_head_size that all heads share; these alone are kept in a KV cache.
struct LatentAttention {
  std::int64_t q_rank = 0;  ///< 0: queries are projected in one step
  std::int64_t kv_rank = 0;
  std::int64_t nope_head_size = 0;  ///< part of a query or key without rotary position
  std::int64_t rope_head_size = 0;
  std::int64_t value_head_size = 0;

  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

/// Scores all tokens with small heads and lets the latent attention see the top_k best (DeepSeek-V3.2, arXiv
/// 2512.02556). All heads then attend to the same latents, without keys and values of their own.
struct SparseIndexer {
  std::int64_t heads = 0;
  std::int64_t head_size = 0;
  std::int64_t top_k = 0;

  friend bool operator==(const SparseIndexer&, const SparseIndexer&) = default;
};

/// Attention to the last tokens and to compressed entries, which each stand for several tokens further away
/// (DeepSeek-V4, arXiv 2606.19348). One key for all heads is its value too. The entries of `chosen_rate` tokens
/// overlap: each is made of twice as many tokens. Queries come out of a latent; results pass a product for each group
/// of heads.
struct CompressedAttention {
  std::int64_t q_rank = 0;
  std::int64_t output_groups = 0;
  std::int64_t output_rank = 0;  ///< numbers that each group of heads leaves
  std::int64_t chosen_rate = 4;  ///< tokens of one entry where an indexer chooses
  std::int64_t all_rate = 128;   ///< and where all are seen

  /// Tokens of one entry; 0 without entries.
  [[nodiscard]] std::int64_t rate(Compression compression) const {
    if (compression == Compression::none) return 0;
    return compression == Compression::chosen ? chosen_rate : all_rate;
  }
  friend bool operator==(const CompressedAttention&, const CompressedAttention&) = default;
};

/// Series of values out of which overlapping entries are made: of their own tokens, and of those before.
inline constexpr std::int64_t compressed_series = 2;

/// Heads of the layers that see all tokens, in models where these differ from those with a window (Gemma 4).
struct FullHeads {
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;
  bool values_are_keys = false;  ///< no projection of values: they are the keys before norm and position

  friend bool operator==(const FullHeads&, const FullHeads&) = default;
};

/// Mixture of experts of the layers that have one; each expert is an MLP like the dense one.
struct Experts {
  std::int64_t count = 0;             ///< E
  std::int64_t per_token = 0;         ///< k
  std::int64_t width = 0;             ///< inside one routed expert
  std::int64_t shared = 0;            ///< experts that every token passes
  std::int64_t shared_width = 0;      ///< of one of them
  bool shared_gate = false;           ///< D weights that scale the shared experts (Qwen1.5-MoE)
  bool biases = false;                ///< of router and routed experts (gpt-oss)
  bool score_bias = false;            ///< E balancing numbers beside the router, no parameters of the model
  std::int64_t groups = 1;            ///< node-limited routing: experts lie in groups,
  std::int64_t groups_per_token = 1;  ///< and a token's k experts in this many of them
  std::int64_t hash_layers = 0;       ///< first layers in which a table says which experts a token number goes to
  std::int64_t latent = 0;            ///< routed experts read and write so many numbers instead of D; 0: D

  friend bool operator==(const Experts&, const Experts&) = default;
};

/// A Transformer decoder, or (attention = false) the book's stack of two-matmul layers
/// In[B,D] Win[D,F] Wout[F,D] without attention, gate, norms or vocabulary.
struct Model {
  std::string name;
  std::string source;
  std::string model_type;    ///< Hugging Face model_type, "transformer" or "two-matmul"
  std::int64_t layers = 0;   ///< L
  std::int64_t d_model = 0;  ///< D
  std::int64_t d_ff = 0;     ///< F of the dense MLP; 0: every layer has experts
  bool attention = true;
  std::int64_t heads = 0;       ///< N
  std::int64_t kv_heads = 0;    ///< K; N with latent attention
  std::int64_t head_size = 0;   ///< H; nope + rope with latent attention
  std::int64_t vocabulary = 0;  ///< V; 0: no embedding and no unembedding
  bool gated = true;            ///< three MLP matrices (gate, up, down) instead of two
  bool tied_embeddings = false;
  bool qkv_bias = false;
  bool attention_output_bias = false;
  bool mlp_bias = false;  ///< of the dense MLP
  NormKind norm = NormKind::rms;
  int norms_per_layer = 2;
  bool final_norm = true;
  std::int64_t learned_positions = 0;  ///< rows of a learned position table
  QkNorm qk_norm = QkNorm::none;
  bool attention_sinks = false;         ///< one learned number per head beside the scores
  bool attention_gate = false;          ///< a projection of the layer's input scales what attention gives
  bool rotary = true;                   ///< attention turns queries and keys by position, unless positions are learned
  bool parallel_residual = false;       ///< attention and MLP both read the layer's input
  std::optional<FullHeads> full_heads;  ///< never with latent
  std::optional<LatentAttention> latent;
  std::optional<CompressedAttention> compressed;  ///< never with latent or full_heads
  std::optional<SparseIndexer> indexer;           ///< only with latent or compressed
  std::optional<Recurrence> recurrence;           ///< of the layers that have one
  std::optional<Experts> experts;
  std::int64_t streams = 1;      ///< residual streams that hyper-connections mix before and after each part of a layer
  std::int64_t mtp_modules = 0;  ///< multi-token prediction: layers beside the model, see ParameterCount::mtp
  Indexed<LayerId, LayerKind> layer_kinds;  ///< empty: all have full attention and the dense MLP
  std::vector<LayerKind> mtp_layers;        ///< of one prediction module; empty: one like the last layer

  [[nodiscard]] LayerKind layer(LayerId index) const { return layer_kinds.empty() ? LayerKind{} : layer_kinds[index]; }
  [[nodiscard]] bool has_full_heads(const LayerKind& kind) const {
    return full_heads && kind.reach == AttentionReach::full;
  }
  friend bool operator==(const Model&, const Model&) = default;
};

/// The distinct kinds of layer, by first appearance, and the order in which they run.
struct LayerSequence {
  Indexed<LayerKindId, LayerKind> kinds;
  Indexed<LayerKindId, std::int64_t> counts;  ///< layers of each kind
  Indexed<LayerId, LayerKindId> order;
};
[[nodiscard]] LayerSequence layer_sequence(const Model& model);

/// Parameters of one layer, or of several, by part.
struct LayerParameters {
  std::int64_t attention = 0;       ///< D N H + 2 D K H + N H D (+ biases, sinks), or the latent matrices (+ indexer)
  std::int64_t recurrence = 0;      ///< its matrices, convolution and numbers of each head
  std::int64_t mlp = 0;             ///< dense: 3 D F gated, else 2 D F (+ biases)
  std::int64_t routed_experts = 0;  ///< all E
  std::int64_t active_experts = 0;  ///< the k of them that a token passes
  std::int64_t shared_experts = 0;
  std::int64_t router = 0;      ///< D E
  std::int64_t norms = 0;       ///< D each, 2 D with bias; of queries, keys and latents too
  std::int64_t streams = 0;     ///< that mix residual streams
  std::int64_t score_bias = 0;  ///< not in total
  [[nodiscard]] std::int64_t total() const {
    return attention + recurrence + mlp + routed_experts + shared_experts + router + norms + streams;
  }
  [[nodiscard]] std::int64_t active() const { return total() - routed_experts + active_experts; }
};
[[nodiscard]] LayerParameters count_layer(const Model& model, const LayerKind& kind);

/// Parameters by part, of one copy of the model. The layers' norms include the final one.
struct ParameterCount : LayerParameters {
  std::int64_t embedding = 0;  ///< V D
  std::int64_t positions = 0;  ///< learned ones
  std::int64_t lm_head = 0;    ///< V D, 0 when tied
  /// Not in total: each module is one more layer like the last (or mtp_layers), three norms and a 2 D x D matrix;
  /// embedding and lm_head are the model's own. Its score bias is in score_bias.
  std::int64_t mtp = 0;
  [[nodiscard]] std::int64_t total() const { return LayerParameters::total() + embedding + positions + lm_head; }
  /// The parameters that one token meets: k of the E experts, and both vocabulary matrices in full.
  [[nodiscard]] std::int64_t active() const { return total() - routed_experts + active_experts; }
};
/// Exact for every model that read_model, load_model or import_hf_config accepted (model_limits.hpp).
[[nodiscard]] ParameterCount count_parameters(const Model& model);

/// Matmul FLOPs of one forward pass per token, averaged over a sequence of T = sequence_length: 2 x the
/// weights of attention, recurrence, MLP, router and active experts + 2 V D for the unembedding (tied or not) +
/// scores and values 2 t N (query size + value size) per layer with attention, counted_state_flops per layer with a
/// recurrence. t is T, or T/2 when causal, and less where a window or chunk limits it. With an indexer, t is the mean
/// of min(top_k, tokens so far), queries have kv_rank + rope_head_size numbers and values kv_rank, and the indexer's
/// scores of all tokens so far come on top. Biases, norms, the embedding look-up and multi-token prediction count
/// nothing.
[[nodiscard]] double forward_flops_per_token(const Model& model, std::int64_t sequence_length, bool causal);
/// Forward and backward, nothing computed twice: 3 x the forward, but an indexer is trained by itself. Its input gets
/// no gradient, and its backward compares its scores of the chosen tokens with the attention's, which are computed for
/// it.
[[nodiscard]] double training_flops_per_token(const Model& model, std::int64_t sequence_length, bool causal);
/// The FLOPs that MFU counts for a step of this many sequences.
[[nodiscard]] Flops model_flops(const Model& model, std::int64_t sequences, std::int64_t sequence_length, bool causal);

/// Tokens of a sequence of `tokens` that one of them attends to on average, under a layer's reach.
[[nodiscard]] double attended_tokens(const LayerKind& kind, double tokens, bool causal);
/// The same of a token that sees its best `top_k` of all `tokens`, itself counted: causal, the mean of min(top_k, t)
/// over t = 1 ... tokens.
[[nodiscard]] double chosen_tokens(double top_k, double tokens, bool causal);
/// Entries of `rate` tokens each that a token sees, `most` at most: causal, the mean of min(most, floor(t / rate)) over
/// t = 1 ... tokens, since an entry is there when its last token is. With a rate of 1 the same as chosen_tokens.
[[nodiscard]] double seen_entries(double most, double tokens, std::int64_t rate, bool causal);

/// Numbers that one layer with attention keeps of each token in a KV cache: 2 K H, or kv_rank + rope_head_size (+
/// indexer key); with compressed attention one key, and its shares of an entry and an indexer's key. A recurrence keeps
/// none.
[[nodiscard]] std::int64_t kv_width(const Model& model, const LayerKind& kind);
/// The sum over all layers, if all of them see the token.
[[nodiscard]] std::int64_t kv_width_of_layers(const Model& model);
/// The layers of one multi-token prediction module.
[[nodiscard]] std::vector<LayerKind> prediction_layers(const Model& model);

/// Reads an inline model block or a catalog file; problems go to the view's sink. The keys and their
/// defaults: docs/scenario_reference.md, model.
[[nodiscard]] Model read_model(const YamlView& view, std::string_view name);
[[nodiscard]] std::string to_string(const Model& model);

/// Names of the catalog's files without .yaml, sorted; empty if the folder cannot be read.
[[nodiscard]] std::vector<std::string> model_names(const std::filesystem::path& catalog);
[[nodiscard]] Model load_model(const std::filesystem::path& catalog, std::string_view name, Problems& problems);

}  // namespace lockstep::workloads
