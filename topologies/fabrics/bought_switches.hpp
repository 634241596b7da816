#pragma once
/// The number of switches that a buyer of a network needs for its cables.
#include <cstdint>

#include "topologies/cluster/cluster.hpp"
#include "topologies/cluster/cluster_spec.hpp"

namespace lockstep::topologies {

/// A tree's graph gives every uplink of a leaf a spine of its own, so a small machine has spines with most of their
/// ports free. Between the same switches below, fewer switches above do with several cables to each:
///   n = the least with  sum over the switches below of ceil(cables from it / n)  +  ceil(cables upwards / n)  <=
///   radix,
/// so that every switch below spreads its cables alike and no bandwidth is lost. Leaves stay as they are, and so do the
/// switches of all other networks and of halls. `cluster`: with every cable a link of its own; `tiers`: of its nodes.
[[nodiscard]] std::int64_t switches_to_buy(const ClusterSpec& spec, const Cluster& cluster,
                                           const Indexed<NodeId, int>& tiers);

}  // namespace lockstep::topologies
