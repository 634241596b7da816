#pragma once
/// Summaries of a plan's blocks, from which the bounds are computed: passes with their collectives, weights with
/// theirs. Nothing here depends on the pipeline, on where axes lie or on the schedule.
#include <cstdint>
#include <vector>

#include "sim/preparation/preparation.hpp"
#include "sim/studies/planning/pass_bound.hpp"

namespace lockstep::planning {

/// A collective of a plan as far as its cost goes. Axes are a set of bits, in the order of plan_axes.
struct PlanCollective {
  workloads::CollectiveKind kind{};
  std::uint32_t axes = 0;
  Bytes size{0};
  workloads::TokenCopies copies{};
  friend bool operator==(const PlanCollective&, const PlanCollective&) = default;
};
[[nodiscard]] std::uint32_t axis_bits(const workloads::AxisNames& names);

/// The passes of a kind of block: everything that depends on tokens.
struct BlockPasses {
  PassSummary forward, backward, input_gradient, weight_gradient;
  std::int64_t kept = 0;  ///< bytes of activations from a forward to its backward, without the block's input
  std::int64_t kept_for_weights = 0;  ///< the part of `kept` that gradients of weights read
  std::int64_t between = 0;           ///< bytes that input gradients leave for gradients of weights
  /// The most that a pass has in memory at once: its results, what it reads of the forward, gathered weights and
  /// workspace.
  std::int64_t forward_most = 0, backward_most = 0, input_gradient_most = 0;
  std::int64_t input = 0;     ///< bytes that arrive from the block before
  std::int64_t sent = 0;      ///< the part of `input` that another stage sends; the rest is gathered
  bool keeps_input = false;   ///< until its backward
  bool keeps_output = false;  ///< among what is kept
};

/// The weights of a kind of block with their gradients and optimizer state: everything that does not depend on tokens.
struct BlockState {
  std::vector<std::int32_t> each_microbatch, last_microbatch,
      publish;                 ///< collectives of gradients and updated weights
  double update = 0;           ///< seconds
  std::int64_t held = 0;       ///< bytes of weights and optimizer state on the chip
  std::int64_t gradients = 0;  ///< bytes as accumulated
  friend bool operator==(const BlockState&, const BlockState&) = default;
};

/// Collectives that are all different.
struct CollectiveList {
  std::vector<PlanCollective> collectives;
  std::vector<std::int32_t> numbers;  ///< numbers of these collectives in a CostBook
  friend bool operator==(const CollectiveList&, const CollectiveList&) = default;
};

/// What collectives cost, in their order, in seconds.
struct CollectiveCosts {
  std::vector<double> alone;
  /// For how long all ranks' ports to the network are full at least, one rank with another; 0 or empty: not known.
  std::vector<double> of_network = {};
  friend bool operator==(const CollectiveCosts&, const CollectiveCosts&) = default;
};

/// One block for each kind. Steps and chains name collectives by their place in the list.
template <class Block>
struct Summary : CollectiveList {
  std::vector<Block> kinds;
  friend bool operator==(const Summary&, const Summary&) = default;
};
using PassesSummary = Summary<BlockPasses>;
using StateSummary = Summary<BlockState>;

enum class WeightGathers { counted, left_out };
/// Without gathers, passes are those of a plan that splits neither weights nor gradients.
[[nodiscard]] PassesSummary summarize_passes(const scenario::Scenario& scenario, const preparation::ShardedModel& model,
                                             WeightGathers gathers = WeightGathers::counted);
[[nodiscard]] StateSummary summarize_state(const scenario::Scenario& scenario, const preparation::ShardedModel& model);

}  // namespace lockstep::planning
