#pragma once
#include <string_view>

#include "topologies/cluster/cluster.hpp"

namespace lockstep::topologies {

/// The user's name for links of this sort: "ici", "scale-up", "pcie", "dcn", "NIC" for those at the ends of a network
/// and "fabric" for those between its switches.
[[nodiscard]] std::string_view link_level(const Cluster& cluster, LinkId id);

}  // namespace lockstep::topologies
