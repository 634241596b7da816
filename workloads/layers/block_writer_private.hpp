#pragma once
/// Writes blocks operation by operation. Each file of block_*.cpp writes one part of a layer.
#include <string>
#include <utility>
#include <vector>

#include "workloads/layers/block.hpp"

namespace lockstep::workloads {

class BlockWriter {
 public:
  using Dims = std::vector<std::string>;

  BlockWriter(const Model& model, const BlockOptions& options, std::string name, std::string input, std::string output)
      : model_(model), options_(options), block_{std::move(name), std::move(input), std::move(output), {}, {}, {}} {}

  Block take() { return std::move(block_); }

  // One operation each; its output's dimensions beside it.
  void activation(const std::string& name, const Dims& dims) { block_.activations.push_back({name, dims}); }
  void branch(const std::string& name, const Dims& dims) { block_.activations.push_back({name, dims, false, true}); }
  void weight(const std::string& name, const Dims& dims, bool tied = false) {
    block_.weights.push_back({name, dims, tied});
  }
  void product(const std::string& what, const std::string& in, const std::string& weight_name, const Dims& weight_dims,
               const std::string& out, const Dims& out_dims, OpPart part = OpPart::other, bool detached = false);
  /// Adds a vector to what the product before has made, where `has`. The result takes the product's name, so that both
  /// are computed again together, and the product's output gets an x behind its own.
  void biased(bool has);
  /// The array written last may wait as a partial sum, and so may it without its bias.
  void mark_branch();
  /// Over the last dimension; a weightless norm (OLMo) has no weight tensor.
  void norm(const std::string& what, const std::string& in, const std::string& out, const Dims& dims,
            const std::string& weight_name);
  void linear(const std::string& what, const Dims& in, const std::string& out, const Dims& dims,
              OpPart part = OpPart::other);
  void nonlinear(const std::string& what, const Dims& in, const std::string& out, const Dims& dims, OpPart part);
  void add(const std::string& what, const Dims& in, const std::string& out, const Dims& dims);
  void op(BlockOp added) { block_.ops.push_back(std::move(added)); }

  /// Attention and MLP of one layer: reads `in`, leaves `out`, both [B, T, D] and already there or to be added by the
  /// caller.
  void layer(const LayerKind& kind, const std::string& in, const std::string& out);

  // block_streams.cpp: hyper-connections
  [[nodiscard]] Dims residual() const;  ///< [B, T, D], or [B, T, J, D] with several streams
  /// The streams of `in` read as one array, `out`; `mix` becomes the numbers by which that is done.
  void join_streams(const std::string& what, const std::string& in, const std::string& mix, const std::string& weight,
                    const std::string& mix_dim, const std::string& out);
  void spread_streams(const std::string& what, const std::string& in, const std::string& mix, const std::string& branch,
                      const std::string& out);
  void hidden_and_embedding_of_streams(const std::string& in, const std::string& embedded, const std::string& out);

 private:
  void attention(const LayerKind& kind, const std::string& in, const std::string& out);
  void queries_keys_values(const std::string& in, const LayerKind& kind);
  void norm_of_heads(const std::string& what, const std::string& in, const std::string& out, const Dims& dims,
                     const std::string& weight_name);
  void latent_queries_keys_values(const std::string& in);
  void sparse_attention(const LayerKind& kind, const std::string& in);
  /// Leaves the choice in `Chosen`.
  void index(const std::string& in);
  /// What leaves attention, `name`, under a gate out of the layer's input; its own name without one.
  std::string gated_output(const std::string& in, const std::string& name, const Dims& dims);
  /// A norm with a weight of another size: of an entry of which each token has a share, or of the left side of a
  /// product.
  void norm_over(const std::string& what, const std::string& in, const std::string& out, const Dims& dims,
                 const std::string& weight_name, const std::string& weight_dim, const std::string& over);
  void compressed_attention(const LayerKind& kind, const std::string& in, const std::string& out);
  /// Keys or entries `out`, [B, T, share]: from products of `wide` numbers, over `rate` tokens.
  struct EntrySizes {
    std::string wide, share, rate, whole;
  };
  void entries(const std::string& what, const std::string& in, const std::string& out, const EntrySizes& sizes,
               bool overlapping, bool detached);
  void compressed_index(const std::string& in);
  void layer_of_streams(const LayerKind& kind, const std::string& in, const std::string& out);
  void recurrence(const std::string& in, const std::string& out);
  void convolution(const std::string& what, const std::string& in, const std::string& out, const Dims& dims,
                   const std::string& weight_name);
  /// Leaves its result in `E`.
  void mlp(const LayerKind& kind, const std::string& in);
  void mixer(const LayerKind& kind, const std::string& in, const std::string& out);
  void dense_mlp(const std::string& in, const std::string& out, bool branch_output);
  void mlp_hidden(const std::string& in, const std::string& letter, const std::string& width, const std::string& what);
  void mlp_down(const std::string& letter, const std::string& width, const std::string& out, const std::string& what);
  void experts(const std::string& in, const std::string& out);
  /// The tensor that is added to the residual stream: `name` itself, or the result of a norm and a dropout on it.
  std::string after_branch(const std::string& what, const std::string& name);
  [[nodiscard]] bool rotary() const { return model_.rotary && model_.learned_positions == 0; }

  const Model& model_;
  const BlockOptions& options_;
  Block block_;
};

}  // namespace lockstep::workloads
