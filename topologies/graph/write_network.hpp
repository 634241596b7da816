#pragma once
/// A network as our own YAML, as docs/howto/bring_your_network.md describes it.
#include <string>

#include "topologies/graph/network_graph.hpp"

namespace lockstep::topologies {

/// The text, which reads back as the same graph. Hosts, switches and links that are alike share a line.
[[nodiscard]] std::string network_yaml(const NetworkGraph& graph);

}  // namespace lockstep::topologies
