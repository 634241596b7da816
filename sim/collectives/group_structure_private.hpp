#pragma once
/// The shape of groups on a cluster, as far as algorithms look at it.
#include <vector>

#include "sim/collectives/group_network.hpp"

namespace lockstep::collectives {

/// For each device the key by which the units of a group are ordered: its place in the order of ranks, or its number.
using PlaceOfDevice = Indexed<topologies::DeviceId, topologies::DeviceId>;
[[nodiscard]] PlaceOfDevice places_in_order(const topologies::Cluster& cluster, UnitOrder order);

/// Sizes, hops and rails of `groups`, of which there is one at least; sizes are those of the largest.
[[nodiscard]] GroupStructure structure_of(const topologies::Cluster& cluster, const std::vector<NetworkGroup>& groups);

}  // namespace lockstep::collectives
