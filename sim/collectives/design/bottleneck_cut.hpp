#pragma once
/// The cut that bounds how fast every member's data can reach all other members.
#include <cstdint>
#include <vector>

#include "sim/collectives/design/link_graph.hpp"

namespace lockstep::collectives::design {

/// A set of nodes with some members, without some others: the data of the `roots` outside must come in over arcs that
/// carry `capacity` in all. So no all-gather is faster than capacity / roots for each root, and the least of all such
/// rates is reached (Edmonds 1973).
struct BottleneckCut {
  std::int64_t capacity = 0;
  int roots = 0;
  std::vector<bool> inside;  ///< by node
};

/// The cut with the least capacity for each root, by maximum flows; its capacity is 0 where some member cannot reach
/// another. At least two members. Of cuts that bind alike, one around as few roots as were found first.
[[nodiscard]] BottleneckCut bottleneck_cut(const LinkGraph& graph);

}  // namespace lockstep::collectives::design
