#pragma once
/// Arcs between members in the place of switches.
#include <optional>
#include <vector>

#include "sim/collectives/design/link_graph.hpp"
#include "sim/collectives/design/simple_graph.hpp"

namespace lockstep::collectives::design {

/// Links on the shortest way between two nodes of the whole network, from each member: `hops[member][node]`.
using Hops = std::vector<std::vector<int>>;
[[nodiscard]] Hops hops_of(const LinkGraph& graph);

/// A graph of members alone that carries as many trees from each of them. Nothing where the switches cannot be split
/// without a loss, which needs arcs that are not as fast both ways. `simple.graph`: its capacities are numbers of
/// trees. Ways that the network's own routes take, the shortest, go first.
[[nodiscard]] std::optional<LinkGraph> without_switches(const SimpleGraph& simple, int trees, const Hops& hops);

}  // namespace lockstep::collectives::design
