#pragma once
/// Switches of a given network that sprayed packets use as one.
#include "topologies/graph/network_graph.hpp"

namespace lockstep::topologies {

using SwitchGroupId = int;

/// For each switch the group that it is modelled in: numbered by tier, then by the first switch of each.
struct SwitchGroups {
  Indexed<SwitchId, SwitchGroupId> group_of;
  Indexed<SwitchGroupId, std::vector<SwitchId>> members;
  Indexed<SwitchGroupId, int> tier;
};

/// Every switch a group of its own.
[[nodiscard]] SwitchGroups single_switches(const NetworkGraph& graph);

/// Tier by tier from the leaves up, switches of a tier are one group if at least half of what lies below either lies
/// below both: all spines of a pod, then all cores above these pods, and the two leaves of hosts with a port on each.
/// What lies below a leaf are adapters, below other switches the groups of the tier below.
[[nodiscard]] SwitchGroups sprayed_groups(const NetworkGraph& graph);

}  // namespace lockstep::topologies
