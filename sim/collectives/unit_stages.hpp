#pragma once
/// The stages of hierarchical algorithms: collectives inside units, and collectives across units among the members that
/// have the same place in their units. Slots of the inner stage come first.
#include "sim/collectives/algorithms.hpp"

namespace lockstep::collectives::network {

class UnitStages {
 public:
  UnitStages(const topologies::Cluster& cluster, const GroupStructure& groups, const CollectiveAlgorithm& across);
  UnitStages(const topologies::Cluster& cluster, const GroupStructure& groups, const CollectiveAlgorithm& across,
             const CollectiveAlgorithm& inside);

  /// Whether the groups have an inside and an outside, alike in all units, and the outer algorithm can serve there.
  [[nodiscard]] static bool possible(workloads::CollectiveKind across_kind, const topologies::Cluster& cluster,
                                     const GroupStructure& groups, const CollectiveAlgorithm& across);

  [[nodiscard]] std::int32_t slots() const;
  [[nodiscard]] std::vector<Flow> flows(const NetworkGroup& group) const;
  [[nodiscard]] bool inside_serves(workloads::CollectiveKind kind) const {
    return inner_algorithm_.serves(kind, cluster_, inner_);
  }
  /// Adds the phases of one stage on `share` of full_size.
  void inside(std::vector<Phase>& phases, workloads::CollectiveKind kind, Bytes full_size, double share,
              const topologies::Protocol& protocol) const;
  void across(std::vector<Phase>& phases, workloads::CollectiveKind kind, Bytes full_size, double share,
              const topologies::Protocol& protocol) const;

 private:
  const topologies::Cluster& cluster_;
  GroupStructure inner_, outer_;
  const CollectiveAlgorithm& inner_algorithm_;
  const CollectiveAlgorithm& outer_algorithm_;
};

}  // namespace lockstep::collectives::network
