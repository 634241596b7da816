#pragma once
/// The same network with fewer switches: whatever changes no rate is joined or left out.
#include <utility>
#include <vector>

#include "sim/collectives/design/link_graph.hpp"

namespace lockstep::collectives::design {

struct SimpleGraph {
  LinkGraph graph;  ///< the members keep their numbers
  /// Of each node, the nodes of the whole network that it stands for.
  std::vector<std::vector<int>> stands_for;
};

/// Joined are switches with the same neighbours, each with the same share of every neighbour's capacity, and a switch
/// with a neighbour whose arcs to and from it carry no less than all its others. A node between two neighbours becomes
/// two arcs; dead ends are left out. Every cut between members that was least is as it was.
[[nodiscard]] SimpleGraph simplified(const LinkGraph& graph);

}  // namespace lockstep::collectives::design
