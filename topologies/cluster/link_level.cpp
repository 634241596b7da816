#include "topologies/cluster/link_level.hpp"

namespace lockstep::topologies {

std::string_view link_level(const Cluster& cluster, LinkId id) {
  const auto& link = cluster.link(id);
  switch (link.kind) {
    case LinkKind::ici: return "ici";
    case LinkKind::pcie: return "pcie";
    case LinkKind::dcn: return "dcn";
    case LinkKind::scale_up: return "scale-up";
    case LinkKind::network: break;
  }
  const auto is_switch = [&](NodeId node) { return cluster.node(node).kind == NodeKind::network_switch; };
  return is_switch(link.from) && is_switch(link.to) ? "fabric" : "NIC";
}

}  // namespace lockstep::topologies
