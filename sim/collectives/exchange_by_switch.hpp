#pragma once
/// A direct exchange of more members than pairs can be listed for. Where packets are sprayed, the route between two
/// members follows from the first switches of both, so that pairs are counted switch by switch.
#include <cstdint>
#include <map>
#include <vector>

#include "topologies/cluster/cluster.hpp"

namespace lockstep::collectives {

using Crossings = std::map<topologies::LinkId, std::int64_t>;

/// How often the n (n - 1) transfers between n members cross links.
struct ExchangeCrossings {
  std::vector<topologies::LinkId> own;  ///< of a single member's way out or in: all its n - 1 transfers
  Crossings shared;                     ///< all other links
};

/// The transfers between members, each of a unit of its own. Pairs are counted one by one where routes do not follow
/// from switches: if they are hashed, or some lead round a missing link.
[[nodiscard]] ExchangeCrossings exchange_by_switch(const topologies::Cluster& cluster,
                                                   const std::vector<topologies::DeviceId>& members);

}  // namespace lockstep::collectives
