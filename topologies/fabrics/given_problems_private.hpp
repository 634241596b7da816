#pragma once
/// What is wrong with a cluster on a given network.
#include <optional>

#include "topologies/fabrics/used_network_private.hpp"

namespace lockstep::topologies {

/// The first reason why the nodes cannot stand on the graph's hosts: too few hosts, adapters that are not as many as a
/// node's NICs, adapters without a cable, or hosts between which no cables lead.
[[nodiscard]] std::optional<ClusterProblem> why_not_on_graph(const FabricSpec& spec, const GivenNetwork& keys,
                                                             const EndCount& ends);

}  // namespace lockstep::topologies
