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

/// What trees are for: a pass from every member, as many trees from each, or both passes of an all-reduce over the same
/// trees, which then take as much of a link one way as the other.
enum class TreesFor { one_pass, both_passes };

/// A graph of members alone that carries as many trees (one_pass: from each member; both_passes: in all). Nothing where
/// the switches cannot be split without a loss. That is never so for one pass over arcs that are as fast both ways.
/// `simple.graph`: its capacities are numbers of trees. Ways that the network's own routes take, the shortest, go
/// first.
[[nodiscard]] std::optional<LinkGraph> without_switches(const SimpleGraph& simple, TreesFor what, int trees,
                                                        const Hops& hops);

/// Whether a network carries so many trees.
[[nodiscard]] bool carries(const LinkGraph& graph, TreesFor what, int trees);

}  // namespace lockstep::collectives::design
