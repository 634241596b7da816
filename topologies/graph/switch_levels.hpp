#pragma once
/// The level of each switch of a network, by its role and not by its distance from hosts.
#include "topologies/graph/network_graph.hpp"

namespace lockstep::topologies {

/// The level of each switch: 1 for the leaves, which hosts are on, 2 for the switches above leaves, and so on; 0 for a
/// switch that no leaf reaches. A switch with a few hosts of its own among leaves is above these and no leaf: most of
/// its cables to switches lead to switches of whose cables at least twice as large a share leads to hosts. Two joined
/// switches are at most one level apart.
[[nodiscard]] Indexed<SwitchId, int> switch_levels(const NetworkGraph& graph);

}  // namespace lockstep::topologies
