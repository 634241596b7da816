#include "topologies/fabrics/component_counts.hpp"

#include <vector>

namespace lockstep::topologies {
namespace {

bool between_hosts(LinkKind kind) {
  return kind == LinkKind::ici || kind == LinkKind::dcn || kind == LinkKind::network;
}

}  // namespace

ComponentCounts count_components(ClusterSpec spec) {
  // Paths chosen by hash need every cable in the graph; there are as many as under spraying.
  spec.fabric.routing = FabricRouting::ecmp;
  spec.between_halls.routing = FabricRouting::ecmp;
  const Cluster cluster = build_cluster(spec);

  ComponentCounts counts;
  std::vector<bool> in_network(static_cast<std::size_t>(cluster.nodes()), false);
  for (LinkId id = 0; id < cluster.links(); ++id) {
    const Link& link = cluster.link(id);
    if (!between_hosts(link.kind)) continue;
    in_network[position_of(link.from)] = true;
    if (link.from > link.to) continue;
    const auto is_switch = [&](NodeId end) { return cluster.node(end).kind == NodeKind::network_switch; };
    ++counts.links;
    if (link.kind == LinkKind::ici)
      ++counts.torus_links;
    else if (is_switch(link.from) && is_switch(link.to))
      ++counts.switch_links;
  }
  for (NodeId id = 0; id < cluster.nodes(); ++id) {
    switch (cluster.node(id).kind) {
      case NodeKind::device: ++counts.chips; break;
      case NodeKind::host: ++counts.hosts; break;
      case NodeKind::nic: ++counts.nics; break;
      case NodeKind::network_switch: counts.switches += in_network[position_of(id)] ? 1 : 0; break;
    }
  }
  if (spec.node() != nullptr) {
    counts.hosts = std::int64_t{spec.units} * spec.halls;
  } else {
    counts.nics = counts.hosts;
  }
  return counts;
}

}  // namespace lockstep::topologies
