#pragma once
/// How much a step's time depends on what happens to be drawn: the paths of connections where switches choose them by a
/// hash, the lengths of the documents in its sequences.
#include <cstdint>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep {

/// Times of one step under several seeds of one cause: the scenario's own and those that follow it.
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

 private:
  std::vector<Seconds> times_;  ///< ascending
};

/// Whether connections of this cluster are hashed onto paths.
[[nodiscard]] bool is_hashed(const topologies::ClusterSpec& cluster);
/// The scenario with another seed for the hash of every network.
[[nodiscard]] scenario::Scenario with_routing_seed(scenario::Scenario scenario, std::uint64_t further);

/// Whether a step's documents are drawn.
[[nodiscard]] bool draws_documents(const scenario::Scenario& scenario);
/// The scenario with the documents of another step.
[[nodiscard]] scenario::Scenario with_other_documents(scenario::Scenario scenario, std::uint64_t further);

}  // namespace lockstep
