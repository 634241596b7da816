#pragma once
/// A model as a sequence of blocks written without any sharding: which tensors there are and which
/// operations join them. Strategies are plans over the names that stand here (plan.hpp).
///
/// Transformer dimensions: B sequences of one microbatch, T sequence length, D d_model, N heads,
/// K key-value heads, H head size, F d_ff, V vocabulary. Two-matmul model: B tokens of one microbatch, D, F.
#include <string>
#include <vector>

#include "workloads/model.hpp"
#include "workloads/sharding/sizes.hpp"

namespace lockstep {

struct BlockTensor {
  std::string name;
  std::vector<std::string> dims;
  bool tied = false;  ///< a weight that an earlier block owns: stored, reduced and updated there
};

struct BlockOp {
  enum class Kind {
    matmul,       ///< inputs[0] * weight -> output
    lookup,       ///< as matmul with one-hot tokens: same communication, no FLOPs, no gradient to its input
    attention,    ///< inputs Q, K, V -> output
    elementwise,  ///< all inputs, alike, -> output; memory bound
    add,          ///< sum of the inputs -> output; its backward only hands the gradient on
    loss          ///< inputs[0] -> nothing: ends the forward pass and starts the backward
  };
  Kind kind;
  std::string name;
  std::vector<std::string> inputs;
  std::string weight;  ///< empty: none
  std::string output;  ///< empty: none
  std::string reduced_dim;  ///< elementwise and loss: the dimension whose statistics they need, or empty
  int statistics = 0;       ///< fp32 numbers per row of that dimension (norm 1, cross-entropy 3)
};

struct Block {
  std::string name;  ///< "layer", "embedding", "head"
  std::string input;   ///< arrives from the block before; empty: none (the embedding's tokens)
  std::string output;  ///< goes to the block after; empty: none (the loss)
  std::vector<BlockTensor> activations;
  std::vector<BlockTensor> weights;
  std::vector<BlockOp> ops;  ///< in forward order

  [[nodiscard]] const BlockTensor& activation(const std::string& name) const;
  [[nodiscard]] const BlockTensor& weight(const std::string& name) const;
};

/// The kinds of block of a model, and in which order and how often they run.
struct BlockSequence {
  std::vector<Block> kinds;
  std::vector<int> order;  ///< indices into kinds, forward order
};
/// Only for models and sequences without a reason in why_not_expanded.
[[nodiscard]] BlockSequence blocks_of(const Model& model);

/// What the blocks cannot express of a model, and what would do instead; empty if all is well.
struct NotExpanded {
  std::string what;
  std::string expected;
};
[[nodiscard]] NotExpanded why_not_expanded(const Model& model, std::int64_t sequence_length, bool tensor_parallel);

/// Sizes of all dimensions for one microbatch.
[[nodiscard]] Sizes sizes_of(const Model& model, std::int64_t sequences, std::int64_t sequence_length);

}  // namespace lockstep
