#pragma once
/// A model as a sequence of blocks written without any sharding: which tensors there are and which
/// operations join them. Strategies are plans over the names that stand here (plan.hpp).
///
/// Transformer dimensions: B sequences of one microbatch, T sequence length, D d_model, N heads,
/// K key-value heads, H head size, F d_ff, V vocabulary. Latent attention: Rq and Rk ranks of the query and key-value
/// latents, Hn, Hr and Hv sizes of a head without position, with rotary position, and of a value. Experts: E experts,
/// C token slots of each, Fe width of one, Fs width of the shared ones together, De numbers of a token that they read
/// and write if not D. Prediction module: Dc = 2 D. Indexer: Ni heads of Hi, X half words for the tokens that one token
/// sees (32 bits each). Recurrence: M heads with states of S x P, G heads of queries and keys, W taps of the
/// convolution, Rg and Rd ranks of the gate and of the decay. Layers that see all tokens, where they differ: Kf heads
/// of Hf. Compressed attention: Go groups of heads, Hg numbers of one before and Ro after its product; H2 numbers of a
/// token out of which chosen entries are made, of Rs tokens each, Hs numbers of a token's share of one; H, Rl and Hl
/// where all entries are seen; Hi2 and His for the indexer's keys. Hyper-connections: J streams, Jm numbers of their
/// mix; Dp = D on the other side of a product. Two-matmul model: B tokens of one microbatch, D, F.
#include <string>
#include <vector>

#include "workloads/model/model.hpp"
#include "workloads/sharding/sizes.hpp"

namespace lockstep::workloads {

struct BlockTensor {
  std::string name;
  std::vector<std::string> dims;
  bool tied = false;    ///< a weight that an earlier block owns: stored, reduced and updated there
  bool branch = false;  ///< an activation that is only added to others: it may wait as a partial sum
};

/// Parts of a layer that recomputation can name.
enum class OpPart {
  other,
  norm,
  core_attention,
  recurrence,         ///< the scan of a recurrence
  latent_projection,  ///< of latent attention: what is projected up from the latents
  streams,            ///< residual streams, read and written by hyper-connections
  mlp,
  mlp_activation,
  experts,  ///< dispatch, products of routed experts, combination
  expert_activation
};

struct BlockOp {
  enum class Kind {
    matmul,     ///< inputs[0] * weight -> output
    lookup,     ///< as matmul with one-hot tokens: same communication, no FLOPs, no gradient to its input
    attention,  ///< inputs Q, K, V -> output
    index,      ///< inputs: an indexer's queries, keys and weights of heads, then all that sparse_attention reads but
                ///< the choice -> the tokens that each token sees
    sparse_attention,  ///< inputs: queries for latents and for rotary keys, latents, rotary keys, and the choice if the
                       ///< layer makes one -> output, as wide as the latents
    compressed_attention,  ///< inputs: queries, keys that are values too, entries if the layer has them, and the choice
                           ///< if it makes one -> output
    scan,                  ///< a recurrence: inputs queries, keys, values, decays and other gates -> output
    elementwise,           ///< all inputs -> output; memory bound
    add,                   ///< sum of the inputs -> output; its backward only hands the gradient on
    dropout,               ///< inputs[0] -> output; keeps a mask of one byte per element
    dispatch,              ///< tokens inputs[0] -> slots of their experts, under the scores inputs[1]
    combine,               ///< slots inputs[0] -> tokens
    loss                   ///< inputs[0] -> nothing: its backward starts from nothing
  };
  Kind kind;
  std::string name;
  std::vector<std::string> inputs;
  std::string weight;         ///< empty: none
  std::string output;         ///< empty: none
  std::string reduced_dim{};  ///< elementwise and loss: the dimension whose statistics they need, or empty
  int statistics = 0;         ///< fp32 numbers per row of that dimension (norm 1, cross-entropy 3)
  OpPart part = OpPart::other;
  bool linear = false;  ///< elementwise: its backward reads nothing but its output's gradient
  bool rows_by_index =
      false;  ///< elementwise: also reads a row of weights for each of its own, where an index says (biases of experts)
  LayerKind reach{};        ///< attention: which tokens see which
  std::int64_t top_k = 0;   ///< index and sparse_attention: tokens (entries) that one token sees at most; compressed
                            ///< attention: 0: all entries
  std::int64_t rate = 1;    ///< index and compressed attention: tokens of one entry
  Recurrence recurrence{};  ///< scan
  std::int64_t before = 0;  ///< elementwise: reads so many tokens before each of its own (a short convolution)
  bool detached = false;    ///< product: its input gets no gradient
  int score_bytes =
      0;  ///< attention: bytes kept for the backward of every score; 0: scores never leave the chip's registers
  bool drops_scores = false;  ///< attention: by dropout
};

struct Block {
  std::string name;    ///< "layer", "embedding", "head"
  std::string input;   ///< arrives from the block before; empty: none (the embedding's tokens)
  std::string output;  ///< goes to the block after; empty: none (the loss)
  std::vector<BlockTensor> activations;
  std::vector<BlockTensor> weights;
  std::vector<BlockOp> ops;  ///< in forward order
  bool is_layer = false;     ///< one of the layers that a pipeline's stages share out

  [[nodiscard]] const BlockTensor& activation(const std::string& name) const;
  [[nodiscard]] const BlockTensor& weight(const std::string& name) const;
};

/// The kinds of block of a model, and in which order and how often they run.
using KindId = int;   ///< number of a kind of block
using BlockId = int;  ///< position of a block in forward order
struct BlockSequence {
  Indexed<KindId, Block> kinds;
  Indexed<BlockId, KindId> order;
};

/// Options that a model's card does not give.
struct BlockOptions {
  bool dropout = false;         ///< after attention and MLP, and on scores
  bool fused_attention = true;  ///< scores stay on the chip (flash attention); false: they are kept for the backward
  int activation_bytes = 2;
};
/// Only for models without a reason in why_not_expanded.
[[nodiscard]] BlockSequence blocks_of(const Model& model, const BlockOptions& options = {});

/// A property of a model that the blocks cannot express, and what is expected instead; empty if there is none.
struct NotExpanded {
  std::string what;
  std::string expected;
};
[[nodiscard]] NotExpanded why_not_expanded(const Model& model);

/// Sizes of all dimensions for one microbatch. `capacity_factor`: slots of an expert over its fair share of the tokens;
/// 1 with balanced or dropless routing.
[[nodiscard]] Sizes sizes_of(const Model& model, std::int64_t sequences, std::int64_t sequence_length,
                             double capacity_factor = 1.0);

}  // namespace lockstep::workloads
