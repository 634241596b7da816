#pragma once
/// Disjoint sets of a cluster's nodes and the links at their edges. Bytes that must enter or leave a set cross these
/// links on any route, which bounds every collective from below (sim/collectives/lower_bound.hpp).
#include <functional>
#include <string>
#include <vector>

#include "topologies/cluster/cluster.hpp"

namespace lockstep::topologies {

using NodeSetId = std::int32_t;

struct NodeSets {
  Indexed<NodeId, NodeSetId> of_node;  ///< -1: in none
  NodeSetId count = 0;
  std::string name;  ///< of the links between them: "min cut between ..."; empty: each set goes by its outermost nodes
};

/// What the links between a set and all other nodes carry, all together, one way.
struct SetEdge {
  BytesPerSecond in{0}, out{0};
};

/// The rate of a link; empty: as the cluster has it.
using LinkRates = std::function<BytesPerSecond(LinkId)>;

/// Whether a link may be part of a way between chips: in a torus without a network beyond it, hosts are dead ends.
[[nodiscard]] bool leads_between_chips(const Cluster& cluster, const Link& link);

/// Sets with natural narrow places at their edges: each chip; what switches up to a given height join (units, then what
/// lies below a leaf, below the spines of a pod, ...), where the height of a node is the number of links from it to the
/// nearest chip; each switch with the units that lead to no other; the halves of a torus along each axis.
[[nodiscard]] std::vector<NodeSets> natural_sets(const Cluster& cluster);

/// Two sets, 0 with all devices of `from` and 1 with all of `to`: of all such sets those between which the links from 0
/// to 1 carry the least. Both lists must be given and disjoint.
[[nodiscard]] NodeSets min_cut(const Cluster& cluster, const std::vector<DeviceId>& from,
                               const std::vector<DeviceId>& to, const LinkRates& rates = {});

[[nodiscard]] Indexed<NodeSetId, SetEdge> edges_of(const Cluster& cluster, const NodeSets& sets,
                                                   const LinkRates& rates = {});

/// "leaf-a's uplinks: 16 x 50.0 GB/s": the links out of a set (or into it).
[[nodiscard]] std::string edge_text(const Cluster& cluster, const NodeSets& sets, NodeSetId set, bool out,
                                    const LinkRates& rates = {});

}  // namespace lockstep::topologies
