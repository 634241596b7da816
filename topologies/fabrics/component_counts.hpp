#pragma once
/// The number of parts of each kind that can fail in a cluster.
#include <cstdint>

#include "topologies/fabrics/fabric.hpp"

namespace lockstep::topologies {

/// Counts switches and links of the networks between hosts, and of a torus. Links and switches inside a node belong to
/// its host.
struct ComponentCounts {
  std::int64_t chips = 0;
  std::int64_t hosts = 0;  ///< nodes, or hosts of the chips of a torus
  std::int64_t nics = 0;   ///< one a host for the chips of a torus
  std::int64_t switches = 0;
  std::int64_t links = 0;         ///< cables: both directions are one, parallel ones are several
  std::int64_t torus_links = 0;   ///< of these, between chips of a torus
  std::int64_t switch_links = 0;  ///< of these, between two switches
  [[nodiscard]] std::int64_t host_links() const { return links - torus_links - switch_links; }
};

/// Cables over which packets are sprayed are counted one by one, though the cluster models equal ones as one link.
[[nodiscard]] ComponentCounts count_components(ClusterSpec spec);

}  // namespace lockstep::topologies
