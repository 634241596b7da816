#include "topologies/cluster/cluster_spec.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::topologies {

const Chip& ClusterSpec::chip() const { return torus() != nullptr ? torus()->chip : node()->chip; }
Chip& ClusterSpec::chip() {
  if (auto* pod = std::get_if<TorusSpec>(&unit)) return pod->chip;
  return std::get<NodeSpec>(unit).chip;
}

const NodeSpec& ClusterSpec::node_of(int of_unit) const {
  for (const NodeGroup& group : groups) {
    if (of_unit < group.units) return group.node;
    of_unit -= group.units;
  }
  return *node();
}

Indexed<ChipKindId, Chip> ClusterSpec::chips() const {
  if (groups.empty()) return {chip()};
  Indexed<ChipKindId, Chip> kinds;
  for (const NodeGroup& group : groups) {
    if (std::find(kinds.begin(), kinds.end(), group.node.chip) == kinds.end()) kinds.push_back(group.node.chip);
  }
  return kinds;
}

std::string_view name(NodeSpec::ScaleUp kind) {
  switch (kind) {
    case NodeSpec::ScaleUp::network_switch: return "switch";
    case NodeSpec::ScaleUp::full_mesh: return "mesh";
    case NodeSpec::ScaleUp::pcie: return "pcie";
  }
  return "";
}

NodeSpec part_of(NodeSpec node, int chips) {
  node.nics = std::max(1, node.nics * chips / node.chips);
  node.chips = chips;
  std::erase_if(node.uplinks, [&](const SharedUplink& uplink) { return uplink.chips >= chips; });
  return node;
}
double FabricSpec::incast_slowdown(int senders) const { return senders > 1 ? 1 + incast * std::log2(senders) : 1; }
double FabricSpec::step_slowdown(int units) const { return units > 2 ? 1 + step_growth * std::log2(units / 2.0) : 1; }
Seconds FabricSpec::barrier_of(int tori) const { return tori > 1 ? barrier * std::log2(tori) : Seconds(0); }

std::int64_t ClusterSpec::devices() const {
  std::int64_t count = std::int64_t{units} * halls;
  if (const NodeSpec* of_node = node()) return count * of_node->chips;
  for (const int size : torus()->shape) count *= size;
  return count;
}

}  // namespace lockstep::topologies
