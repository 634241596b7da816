#pragma once
/// How much a step's time depends on the paths that connections happen to get where switches choose them by a hash.
#include <cstdint>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep {

/// Times of one step under several seeds of the hash: the scenario's own and those that follow it.
class RoutingDraws {
 public:
  /// `times`: at least one, in any order.
  explicit RoutingDraws(std::vector<Seconds> times);
  [[nodiscard]] std::size_t count() const { return times_.size(); }
  [[nodiscard]] Seconds best() const { return times_.front(); }
  [[nodiscard]] Seconds worst() const { return times_.back(); }
  /// An even number of times has the mean of the two in the middle.
  [[nodiscard]] Seconds median() const;

 private:
  std::vector<Seconds> times_;  ///< ascending
};

/// Whether connections of this cluster are hashed onto paths.
[[nodiscard]] bool is_hashed(const topologies::ClusterSpec& cluster);
/// The scenario with another seed for the hash of every network.
[[nodiscard]] scenario::Scenario with_routing_seed(scenario::Scenario scenario, std::uint64_t further);

}  // namespace lockstep
