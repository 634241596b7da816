#pragma once
/// The network of a cluster whose fabric is generated, written out as its owner's file would describe it.
#include <memory>
#include <vector>

#include "topologies/cluster/cluster_spec.hpp"

namespace lockstep::topologies {

/// Every switch and cable of the network between the nodes of a hall, in the cluster's order and with its names; node 3
/// is host "host3" with adapters "nic0", "nic1". Rates are those before the fabric's efficiency. A cluster on it has
/// the same links, routes and rates. The cluster must be one that can be built, of nodes in one hall.
[[nodiscard]] NetworkGraph graph_of(const ClusterSpec& generated);

/// The same nodes on hosts of that network; empty: on the first ones.
[[nodiscard]] ClusterSpec on_graph(ClusterSpec spec, std::shared_ptr<const NetworkGraph> graph,
                                   std::vector<HostId> hosts = {});

}  // namespace lockstep::topologies
