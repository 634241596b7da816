#pragma once
/// Twisted tori: the links that close the short axes of a torus of k x k x 2k or k x 2k x 2k chips also lead on by k
/// along each long axis. Their graphs are those of the face-centred and the body-centred cubic lattice and look the
/// same along all axes (Camarero, Martinez, Beivide 2015), so an all-to-all loads all links alike.
#include <vector>

#include "topologies/cluster/cluster.hpp"

namespace lockstep::topologies {

/// What rings of a twisted torus have of their own: they go through its other axes too.
struct TwistedRing {
  double exchange;  ///< each link carries, one way, so often V/N of an all-to-all among N chips
  int diameter;     ///< hops to the farthest chip
};

/// The twist of each axis of a torus of such sizes, in any order; empty: it cannot be twisted.
[[nodiscard]] std::vector<std::vector<int>> twists_of(const std::vector<int>& shape);

/// The first axis of a cluster's tori.
[[nodiscard]] AxisId first_of_torus(const Cluster& cluster);

/// Hops along each axis of the torus from one chip to another of its unit, with their sign; of several shortest ways
/// the one that goes round least.
[[nodiscard]] std::vector<int> shortest_hops(const Cluster& cluster, DeviceId from, DeviceId to);

/// What an all-to-all among all chips along these axes, which are twisted, puts on each link.
[[nodiscard]] TwistedRing twisted_ring(const Cluster& cluster, const std::vector<AxisId>& axes);

}  // namespace lockstep::topologies
