#pragma once
/// Which hosts of a network from a file the nodes of a cluster are.
#include <vector>

#include "topologies/cluster/cluster_spec.hpp"

namespace lockstep::topologies {

/// The host of each of so many units, in their order.
[[nodiscard]] std::vector<HostId> hosts_of_units(const GivenNetwork& keys, int units);

}  // namespace lockstep::topologies
