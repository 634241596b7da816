#pragma once
/// A direct exchange of more members than pairs can be listed for. Where packets are sprayed, the route between two
/// members follows from the first switches of both, so that pairs are counted switch by switch.
#include <cstdint>
#include <map>
#include <vector>

#include "topologies/cluster/cluster.hpp"

namespace lockstep::collectives {

using Crossings = std::map<topologies::LinkId, std::int64_t>;

/// How many of the n (n - 1) transfers between members, each of a unit of its own, cross each link. Pairs are counted
/// one by one where that does not hold: hashed routes, or some round a missing link.
[[nodiscard]] Crossings exchange_by_switch(const topologies::Cluster& cluster,
                                           const std::vector<topologies::DeviceId>& members);

}  // namespace lockstep::collectives
