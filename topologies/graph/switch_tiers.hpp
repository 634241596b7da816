#pragma once
/// The tier of each switch of a network, by its role.
#include "topologies/graph/network_graph.hpp"

namespace lockstep::topologies {

/// The tier of each switch: 0 for the leaves, which hosts are on, 1 for the switches above leaves, and so on. A switch
/// with a few hosts of its own among leaves is above these and no leaf: most of its cables lead to switches of whose
/// cables at least twice as large a share leads to hosts. Two joined switches are at most one tier apart.
[[nodiscard]] Indexed<SwitchId, int> switch_tiers(const NetworkGraph& graph);

}  // namespace lockstep::topologies
