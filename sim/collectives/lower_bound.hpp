#pragma once
/// The time below which no algorithm runs a collective on a cluster. Of every set of nodes (topologies/cluster/
/// node_sets.hpp) the bytes that must cross its edge are divided by what the links there carry; latencies are left out.
/// Derivations: docs/models/collectives.md.
#include <optional>
#include <string>
#include <vector>

#include "topologies/cluster/cluster.hpp"
#include "workloads/sharding/collective_kind.hpp"

namespace lockstep::collectives {

struct CollectiveBound {
  double share = 0;            ///< bytes that must cross, over V
  BytesPerSecond capacity{0};  ///< of the links that they cross
  std::string links;           ///< "leaf-a's uplinks: 16 x 50.0 GB/s"
  [[nodiscard]] Seconds time(Bytes full_size) const {
    return Seconds(share * static_cast<double>(full_size.value()) / capacity.value());
  }
};

/// Bytes over V that must cross the edge of a set of nodes with k of a group's n members; `has_root`: the first of them
/// is among these. Not of point_to_point, where they depend on who lies next to whom.
struct CutNeeds {
  double in = 0, out = 0;
};
[[nodiscard]] CutNeeds needs_across(workloads::CollectiveKind kind, double n, double k, bool has_root);

/// `groups`: the devices of each group, in the order of its members, the first of which is the root; all groups run at
/// once and are disjoint. Links are taken as the cluster has them, whole. Nothing if no bytes are known to be needed:
/// in groups of one, and in a shift along a torus, which need not close its lines.
[[nodiscard]] std::optional<CollectiveBound> collective_bound(
    workloads::CollectiveKind kind, const topologies::Cluster& cluster,
    const std::vector<std::vector<topologies::DeviceId>>& groups);

/// The bound where the links of every set of nodes that binds as much as any carry `factor` times as much.
struct WiderCuts {
  std::int64_t links = 0;  ///< of these sets
  CollectiveBound bound;
};
/// Nothing where there is no bound.
[[nodiscard]] std::optional<WiderCuts> with_wider_cuts(workloads::CollectiveKind kind,
                                                       const topologies::Cluster& cluster,
                                                       const std::vector<std::vector<topologies::DeviceId>>& groups,
                                                       double factor);

}  // namespace lockstep::collectives
