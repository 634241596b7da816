#pragma once
/// A plan says how each tensor is split: activations as they cross between operations, weights as they
/// are stored, gradients as they are accumulated over microbatches, optimizer state as it is kept.
/// DP, ZeRO-1/2/3 (FSDP), tensor, sequence, context and expert parallelism and their mixes are plans and nothing else.
#include <map>
#include <string>
#include <vector>

#include "workloads/layers/block.hpp"
#include "workloads/sharding/notation.hpp"
#include "workloads/sharding/sizes.hpp"

namespace lockstep::workloads {

using Shardings = std::map<std::string, ShardedTensor>;  ///< by tensor name

struct Plan {
  Shardings activations;
  Shardings weights;
  Shardings gradients;
  Shardings optimizer;
  [[nodiscard]] std::string to_string() const;
};

/// Standard strategies. Sizes of 1 are fine: such an axis is then left out of the shardings.
struct Parallel {
  std::int64_t data = 1;     ///< batch split, weights as `zero` says
  std::int64_t fsdp = 1;     ///< batch split, weights stored split (ZeRO-3) unless zero_of says otherwise
  std::int64_t tensor = 1;   ///< heads, d_ff and vocabulary split
  std::int64_t context = 1;  ///< sequence split, weights as `zero` says
  std::int64_t expert = 1;   ///< batch split, weights as `zero` says; experts split
  int zero = 0;  ///< of the data, context and expert axes: 0 nothing, 1 optimizer state, 2 and gradients, 3 and weights
  std::map<std::string, int> zero_of{};  ///< stages of single axes, that of fsdp too
  bool sequence_parallel = true;         ///< the residual stream is split over the tensor axis too (reduce-scatter
                                         ///< and all-gather instead of all-reduce)
  /// The axes over which the experts are distributed; the other batch and sequence axes replicate the experts. Of the
  /// tensor axis these are the ranks that do not split one expert.
  AxisNames experts_over{"expert"};
  std::int64_t expert_tensor = 0;  ///< neighbours on the tensor axis that split each expert, a divisor of its size; 0:
                                   ///< 1 if the tensor axis is among experts_over, else all

  [[nodiscard]] std::int64_t ranks_of_an_expert() const {
    return expert_tensor > 0 ? expert_tensor : contains(experts_over, "tensor") ? 1 : tensor;
  }
  /// Over how many ranks the experts are distributed.
  [[nodiscard]] std::int64_t ranks_of_experts() const;

  /// The ZeRO stage of an axis along which weights are copied.
  [[nodiscard]] int zero_on(const std::string& axis) const {
    const auto own = zero_of.find(axis);
    return own != zero_of.end() ? own->second : axis == "fsdp" ? 3 : zero;
  }
};

/// Axes of arrays that the tensor axis splits, outermost first: the axis, or its two digits (axis_digits.hpp) where
/// experts use them apart.
[[nodiscard]] AxisNames tensor_axes(const Parallel& parallel);
/// Those along which ranks hold different experts or, if the tensor axis is not among experts_over, copies of the same.
[[nodiscard]] AxisNames tensor_axes_between_experts(const Parallel& parallel);

/// An array as a user writes it, with the tensor axis in place of its digits, under these axes.
[[nodiscard]] ShardedTensor split_by_tensor_axes(ShardedTensor array, const Parallel& parallel);

/// Writes the strategies as shardings over the mesh axes "data", "fsdp", "tensor", "context" and "expert".
[[nodiscard]] Plan plan_for(const BlockSequence& blocks, const Parallel& parallel);

/// Puts a user's own shardings over a plan, tensor by tensor. A weight that he re-shards takes its
/// gradient and optimizer state along unless he gives those too. Throws ShardingError for a tensor that
/// the model does not have or dimensions that are not its own.
struct PlanOverrides {
  std::vector<ShardedTensor> activations, weights, gradients, optimizer;
};
void apply(const PlanOverrides& overrides, Plan& plan);

/// If the plan splits all keys and values over a multiple of their heads, gives each rank a copy of the head that its
/// queries attend to. A rank then computes, keeps and updates one head of its own, and the gradients of the copies are
/// added up after the last microbatch. To be called after the user's shardings are applied.
void copy_key_value_heads(Plan& plan, Sizes& sizes);

}  // namespace lockstep::workloads
