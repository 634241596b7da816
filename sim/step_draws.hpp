#pragma once
/// How much a step's time depends on what happens to be drawn: how fast its chips and links are at the time, the paths
/// of connections where switches choose them by a hash, the lengths of the documents in its sequences, the loads of its
/// experts.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep {

/// Times of one step under several seeds.
class StepDraws {
 public:
  /// `times`: at least one, in any order.
  explicit StepDraws(std::vector<Seconds> times);
  [[nodiscard]] std::size_t count() const { return times_.size(); }
  [[nodiscard]] Seconds best() const { return times_.front(); }
  [[nodiscard]] Seconds worst() const { return times_.back(); }
  /// An even number of times has the mean of the two in the middle.
  [[nodiscard]] Seconds median() const { return quantile(0.5); }
  /// Between the two times beside the place q (count - 1) of the sorted ones.
  [[nodiscard]] Seconds quantile(double q) const;
  [[nodiscard]] Seconds mean() const;
  /// The expected time of the slowest of `steps` of these draws, each set of so many as likely as another; at most
  /// count().
  [[nodiscard]] Seconds slowest_of(std::size_t steps) const;
  /// As they were given: under one seed after the other.
  [[nodiscard]] const std::vector<Seconds>& in_order() const { return in_order_; }

 private:
  std::vector<Seconds> in_order_, times_;  ///< the second ascending
};

/// A cause of steps that differ. The same draw of the same cause is the same for all plans on one cluster: chips and
/// links are drawn by their numbers.
struct StepCause {
  std::string name;         ///< "jitter"
  bool only_rates = false;  ///< it changes how fast chips and links are, and nothing else
  std::function<scenario::Scenario(scenario::Scenario, std::uint64_t draw)> under;  ///< the scenario of that draw
};
/// Every cause that a scenario has: its variations, then what it draws anyway, whose first draw is the scenario's own.
[[nodiscard]] std::vector<StepCause> causes_of(const scenario::Scenario& scenario);

/// Whether connections of this cluster are hashed onto paths.
[[nodiscard]] bool is_hashed(const topologies::ClusterSpec& cluster);
/// The scenario with another seed for the hash of every network.
[[nodiscard]] scenario::Scenario with_routing_seed(scenario::Scenario scenario, std::uint64_t further);

/// The scenario with other loads of experts.
[[nodiscard]] scenario::Scenario with_other_expert_loads(scenario::Scenario scenario, std::uint64_t further);

/// Whether a step's documents are drawn.
[[nodiscard]] bool draws_documents(const scenario::Scenario& scenario);
/// The scenario with the documents of another step.
[[nodiscard]] scenario::Scenario with_other_documents(scenario::Scenario scenario, std::uint64_t further);

}  // namespace lockstep
