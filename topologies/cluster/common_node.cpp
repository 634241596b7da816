#include <algorithm>

#include "topologies/cluster/cluster_spec.hpp"

namespace lockstep::topologies {
namespace {

std::vector<Protocol> slowest(const std::vector<Protocol>& some, const std::vector<Protocol>& others) {
  if (some.empty() || others.empty()) return some.empty() ? others : some;  // links as they are are no slower
  std::vector<Protocol> both;
  for (Protocol protocol : some) {
    const auto other =
        std::find_if(others.begin(), others.end(), [&](const Protocol& one) { return one.name == protocol.name; });
    if (other == others.end()) continue;
    protocol.efficiency = std::min(protocol.efficiency, other->efficiency);
    protocol.launch = std::max(protocol.launch, other->launch);
    protocol.local_step = std::max(protocol.local_step, other->local_step);
    protocol.remote_step = std::max(protocol.remote_step, other->remote_step);
    protocol.remote_launch = std::max(protocol.remote_launch, other->remote_launch);
    both.push_back(std::move(protocol));
  }
  return both;
}

/// An empty list has all.
std::vector<std::string> in_both(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  if (some.empty() || others.empty()) return some.empty() ? others : some;
  std::vector<std::string> both;
  for (const std::string& name : some) {
    if (std::find(others.begin(), others.end(), name) != others.end()) both.push_back(name);
  }
  return both;
}

}  // namespace

NodeSpec common_node(const std::vector<NodeGroup>& groups) {
  NodeSpec common = groups.front().node;
  for (const auto& [node, units] : groups) {
    if (node == common) continue;
    if (node.name != common.name) common.name += " and " + node.name;
    common.scale_up_link = std::min(common.scale_up_link, node.scale_up_link);
    common.scale_up_efficiency = std::min(common.scale_up_efficiency, node.scale_up_efficiency);
    common.scale_up_latency = std::max(common.scale_up_latency, node.scale_up_latency);
    common.in_network_reduction = common.in_network_reduction && node.in_network_reduction;
    common.in_network_efficiency = std::min(common.in_network_efficiency, node.in_network_efficiency);
    if (node.nic > common.nic) common.fabric = node.fabric;
    common.nic = std::max(common.nic, node.nic);
    common.pcie = std::min(common.pcie, node.pcie);
    common.protocols = slowest(common.protocols, node.protocols);
    common.algorithms = in_both(common.algorithms, node.algorithms);
  }
  return common;
}

}  // namespace lockstep::topologies
