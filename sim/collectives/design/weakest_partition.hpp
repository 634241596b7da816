#pragma once
/// The partition of a group that bounds how fast an all-reduce can be.
#include <cstdint>
#include <vector>

#include "sim/collectives/design/link_graph.hpp"

namespace lockstep::collectives::design {

/// Disjoint sets of nodes, each with some members, together with all of them. Of every element, all sets together
/// receive at least 2 (parts - 1) messages (docs/models/collectives.md), over arcs that carry `capacity` in all. So no
/// all-reduce of V bytes takes less than 2 V (parts - 1) / capacity. Where links are as fast both ways the least of all
/// such rates is reached: it is how many spanning trees can be packed without regard to the direction of links
/// (Nash-Williams 1961, Tutte 1961).
struct Partition {
  std::int64_t capacity = 0;  ///< of the arcs into each part from outside it
  int parts = 0;
  std::vector<int> part_of;  ///< by node; -1: in none
};

/// The partition with the least capacity / (parts - 1), by maximum flows; its capacity is 0 where no links join all
/// members. At least two members. The least where links are as fast both ways, else near it.
[[nodiscard]] Partition weakest_partition(const LinkGraph& graph);

/// Numbers of the members, which may be below 0, as small as can be in sum: of every set of nodes with a member, the
/// arcs into it and the numbers in it come to at least a demand.
struct Supplies {
  std::vector<std::int64_t> of;                ///< by member
  std::vector<std::vector<bool>> met_exactly;  ///< by member and node: a set with the member that has just the demand
  [[nodiscard]] std::int64_t sum() const;
};

/// The sum is the demand itself if and only if every partition into m parts has a capacity of (m - 1) demands.
/// Numbers as even as a first round can make them; each is even or odd as the capacity of the arcs into its member is,
/// if the demand is even and arcs are as fast both ways.
[[nodiscard]] Supplies least_supplies(const LinkGraph& graph, std::int64_t demand);

}  // namespace lockstep::collectives::design
