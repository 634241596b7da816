#pragma once
/// Which hosts reach each other. The adapters of a host are joined through the host, so that a network of separate
/// rails is in one part.
#include <vector>

#include "topologies/graph/network_graph.hpp"

namespace lockstep::topologies {

/// Hosts that reach each other.
struct NetworkPart {
  std::size_t hosts = 0;
  HostId example = 0;  ///< the first of them
};
using NetworkParts = std::vector<NetworkPart>;

/// The parts that have hosts, the largest first, then by their first host. One part: every host reaches every other.
[[nodiscard]] NetworkParts network_parts(const NetworkGraph& graph);

}  // namespace lockstep::topologies
