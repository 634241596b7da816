#pragma once
/// The least time a pass of a block can take: its longest path, with collectives at their time alone. A pass is seen as a
/// linear map in the algebra of max and plus: from when the compute stream is free and when the input arrives, to when the
/// compute stream is free again and when the output leaves.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/collectives/collective_model.hpp"
#include "sim/program/time_model.hpp"
#include "sim/simulate.hpp"

namespace lockstep {

inline constexpr double never = -std::numeric_limits<double>::infinity();

/// When a rank's compute stream is free and when what is handed on is there.
struct Front {
  double free = 0;
  double data = 0;
};

struct PassPath {
  double free_free = 0, free_data = never;  ///< from the free compute stream
  double data_free = never, data_data = 0;  ///< from the input
  [[nodiscard]] Front after(const Front& front) const {
    return {std::max(front.free + free_free, front.data + data_free), std::max(front.free + free_data, front.data + data_data)};
  }
  /// This pass, then `next` on what it hands on.
  [[nodiscard]] PassPath then(const PassPath& next) const {
    return {std::max(free_free + next.free_free, free_data + next.data_free), std::max(free_free + next.free_data, free_data + next.data_data),
            std::max(data_free + next.free_free, data_data + next.data_free), std::max(data_free + next.free_data, data_data + next.data_data)};
  }
};

/// A collective of a plan as far as its price goes. Axes are a set of bits, in the order of plan_axes.
struct PricedCollective {
  CollectiveKind kind{};
  std::uint32_t axes = 0;
  Bytes size{0};
  TokenCopies copies{};
  friend bool operator==(const PricedCollective&, const PricedCollective&) = default;
};
[[nodiscard]] std::uint32_t axis_bits(const AxisNames& names);

/// One pass of a block, or the part of a backward that a split schedule runs at a time.
struct PassSketch {
  struct Step {
    double compute = 0;              ///< seconds, if it computes
    std::int32_t collective = -1;    ///< which of the sketch's collectives; -1: it computes
    bool beside = false;             ///< computes on a stream of its own
    std::vector<std::int32_t> after; ///< steps of this list; -1: the input
  };
  std::vector<Step> steps;
  std::vector<std::int32_t> output;  ///< steps whose ends are handed on; -1: the input
  double compute = 0;                ///< of all steps on the compute stream
  std::vector<std::int32_t> gathers; ///< collectives of weights, one for each bucket: beside the path
};

/// A block kind as the floors see it.
struct BlockSketch {
  PassSketch forward, backward, input_gradient, weight_gradient;
  std::vector<std::int32_t> each_microbatch, last_microbatch, publish;  ///< collectives of gradients and updated weights
  double update = 0;                                                    ///< seconds
  std::int64_t held = 0;       ///< bytes of weights and optimizer state on the chip
  std::int64_t gradients = 0;  ///< bytes as accumulated
  std::int64_t kept = 0;       ///< bytes of activations from a forward to its backward, without the block's input
  std::int64_t input = 0;      ///< bytes that arrive from the block before
  std::int64_t sent = 0;       ///< of them, what another stage sends; the rest is gathered
  bool keeps_input = false;    ///< until its backward
  bool keeps_output = false;   ///< among what is kept
};

/// All that a plan's floor needs and that neither placement nor schedule changes.
struct PlanSketch {
  std::vector<BlockSketch> kinds;
  std::vector<int> order;
  std::vector<PricedCollective> collectives;  ///< different ones
  std::int32_t price_of(const PricedCollective& wanted);
};

[[nodiscard]] PlanSketch sketch_of(const Scenario& scenario, const Preparation& derived);

/// `prices`: by PlanSketch::collectives.
[[nodiscard]] PassPath path_of(const PassSketch& pass, std::span<const double> prices);

}  // namespace lockstep
