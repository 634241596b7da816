#pragma once
/// The blocks of a plan with the costs of its collectives, from which lower bounds are computed. Passes and states are
/// timed separately, since many plans share one and differ in the other.
#include <array>
#include <span>
#include <vector>

#include "sim/studies/planning/plan_space.hpp"
#include "sim/studies/planning/plan_summary.hpp"

namespace lockstep::planning {

/// Seconds for which the communication streams are busy, by axis; last, seconds for which the ports to the network are
/// full (CollectiveCosts), which collectives of all axes share.
using BusyStreams = std::array<double, plan_axes.size() + 1>;

/// For how long the collectives of a pass occupy the streams, by what is certain about when they run.
struct PassStreams {
  BusyStreams first{}, between{}, last{};
  bool computes = false;
  [[nodiscard]] BusyStreams all() const;
  /// This pass, followed by `next` on its output. A pass that does not compute changes nothing.
  [[nodiscard]] PassStreams then(const PassStreams& next) const;
};
void add(BusyStreams& streams, const BusyStreams& more);
[[nodiscard]] BusyStreams least(const BusyStreams& one, const BusyStreams& other);

/// Times of the passes, by kind of block.
struct TimedPasses {
  /// The weights of one pass of a block.
  struct Gather {
    double first = 0;       ///< until some of them are there
    double along_data = 0;  ///< on the stream of the data axis
  };
  struct Pass {
    BlockPath path;
    Gather gather;
    PassStreams streams;
  };
  struct Kind {
    Pass forward, backward, input_gradient, weight_gradient;
    BusyStreams each{};  ///< of every microbatch
  };
  std::vector<Kind> kinds;
};

/// Times of weights, gradients and updates, by kind of block.
struct TimedState {
  struct Kind {
    BusyStreams each{}, once{}, published{};      ///< every microbatch, after the last, after the barrier
    double reduced_each = 0, reduced = 0;         ///< gradients, along data: each microbatch, and after the last
    double published_along_data = 0, update = 0;  ///< of the optimizer
    std::int64_t held = 0, gradients = 0;         ///< bytes, as in BlockState
  };
  std::vector<Kind> kinds;
};

/// Adds the collectives of a pass's steps to what occupies the streams, without those that gather weights. `costs`: of
/// the summary's collectives.
void occupy(BusyStreams& streams, const PassSummary& pass, const CollectiveList& list, const CollectiveCosts& costs);
/// `costs`: of the summary's collectives.
[[nodiscard]] TimedPasses timed(const PassesSummary& summary, const CollectiveCosts& costs);
[[nodiscard]] TimedState timed(const StateSummary& summary, const CollectiveCosts& costs);
/// The element-wise minimum.
[[nodiscard]] TimedState least(const TimedState& one, const TimedState& other);

}  // namespace lockstep::planning
