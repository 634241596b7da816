#pragma once
/// Layers that carry a state along the sequence instead of attending to all tokens: state-space models and linear
/// attention. They differ in their rule of the state and in the gates that it needs.
#include <cstdint>

namespace lockstep::workloads {

/// Every head keeps a state of key_size x value_size numbers. Each token multiplies it by a decay, adds the product of
/// its key and its value, and reads it with its query. Queries and keys are those of `key_heads`, which the heads
/// share.
struct Recurrence {
  enum class Rule {
    mamba2,       ///< one decay for each head (arXiv 2405.21060)
    gated_delta,  ///< besides, what the state says of the key is taken out first (arXiv 2412.06464)
    kimi_delta    ///< the same with a decay for each row of the state (arXiv 2510.26692)
  };
  Rule rule = Rule::mamba2;
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t key_size = 0;
  std::int64_t value_size = 0;
  std::int64_t convolution = 4;   ///< tokens under the short convolution of queries, keys and values
  bool convolution_bias = false;  ///< one number for each of its channels
  std::int64_t gate_rank = 0;     ///< the output's gate is projected through so many numbers; 0: in one step
  std::int64_t decay_rank = 0;    ///< kimi_delta: likewise the decay
  std::int64_t chunk = 64;        ///< tokens that kernels take at once

  [[nodiscard]] std::int64_t keys() const { return key_heads * key_size; }
  [[nodiscard]] std::int64_t values() const { return heads * value_size; }
  /// Queries, keys and values that the convolution passes over.
  [[nodiscard]] std::int64_t channels() const { return 2 * keys() + values(); }
  /// Numbers in the states of one sequence.
  [[nodiscard]] std::int64_t state() const { return heads * key_size * value_size; }
  friend bool operator==(const Recurrence&, const Recurrence&) = default;
};

/// Matrices of one layer: projections of queries, keys, values and gates, and of the output.
[[nodiscard]] std::int64_t recurrence_matrices(const Recurrence& recurrence, std::int64_t d_model);
/// Numbers of one layer that are not in matrices: taps and biases of the convolution, one to three for each head.
[[nodiscard]] std::int64_t recurrence_vectors(const Recurrence& recurrence);
/// The scale of the norm before the output projection.
[[nodiscard]] std::int64_t recurrence_norm(const Recurrence& recurrence);

/// FLOPs of the state for one token in one layer's forward, as frameworks count them for MFU: 7 for each number of the
/// state (mamba2), 8 (gated_delta), or the products of a chunk (kimi_delta); for the delta rules with the convolution.
[[nodiscard]] double counted_state_flops(const Recurrence& recurrence);

/// What kernels do, by chunks of C tokens: products inside a chunk and with the state between chunks.
struct ChunkFlops {
  double forward = 0;  ///< of one token and key head, and of one token and head
  double states = 0;   ///< of these, what it takes to have the states of all chunks; the backward does it again
};
[[nodiscard]] ChunkFlops chunk_flops_of_head(const Recurrence& recurrence);
[[nodiscard]] ChunkFlops chunk_flops_of_key_head(const Recurrence& recurrence);

}  // namespace lockstep::workloads
