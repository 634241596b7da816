#pragma once
/// A direct exchange of more members than pairs can be listed for. Where packets are sprayed, the route between two
/// members follows from the first switches of both, so that pairs are counted switch by switch.
#include <cstdint>
#include <map>
#include <vector>

#include "topologies/cluster/cluster.hpp"

namespace lockstep::collectives {

using Crossings = std::map<topologies::LinkId, std::int64_t>;

/// How often the transfers between members of different units cross links.
struct ExchangeCrossings {
  std::vector<topologies::LinkId> own;  ///< of a single member's way out or in: all its transfers to other units
  Crossings shared;                     ///< all other links
};

/// The members of a group by unit, as many in each.
using MembersByUnit = std::vector<std::vector<topologies::DeviceId>>;

/// Whether each member leaves its unit, and reaches it, by the same way whatever the other end: NICs do not depend on
/// it, as they do where rails are not joined and other chips of the unit pass transfers on. Looks at the first two
/// units.
[[nodiscard]] bool has_own_ways(const topologies::Cluster& cluster, const MembersByUnit& units);

/// The transfers from every member to every one of another unit. Pairs are counted one by one where routes do not
/// follow from switches: if they are hashed, if a member has several ways out, or if some lead round a missing link.
[[nodiscard]] ExchangeCrossings exchange_by_switch(const topologies::Cluster& cluster, const MembersByUnit& units);

}  // namespace lockstep::collectives
