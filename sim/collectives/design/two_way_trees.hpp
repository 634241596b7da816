#pragma once
/// Trees for an all-reduce: data are added up towards a root and spread from it over the same tree, so that a link
/// carries as much one way as the other, wherever the root is.
#include "sim/collectives/design/broadcast_trees.hpp"

namespace lockstep::collectives::design {

/// Whether a network carries so many spanning trees, each of which takes 1 of the capacity of its links both ways. Arcs
/// must be as fast both ways.
[[nodiscard]] bool carries_two_way(const LinkGraph& graph, int trees);

/// So many spanning trees in a graph of members alone that carries them. The root of each is its middle, from which it
/// is lowest. Rates are left 0.
[[nodiscard]] BroadcastTrees packed_two_way(const LinkGraph& graph, int trees);

}  // namespace lockstep::collectives::design
