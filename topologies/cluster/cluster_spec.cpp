#include "topologies/cluster/cluster_spec.hpp"

#include <cmath>

namespace lockstep::topologies {

const Chip& ClusterSpec::chip() const { return torus() != nullptr ? torus()->chip : node()->chip; }
Chip& ClusterSpec::chip() {
  if (auto* pod = std::get_if<TorusSpec>(&unit)) return pod->chip;
  return std::get<NodeSpec>(unit).chip;
}

double FabricSpec::incast_slowdown(int senders) const { return senders > 1 ? 1 + incast * std::log2(senders) : 1; }
double FabricSpec::step_slowdown(int units) const { return units > 2 ? 1 + step_growth * std::log2(units / 2.0) : 1; }

std::int64_t ClusterSpec::devices() const {
  std::int64_t count = std::int64_t{units} * halls;
  if (const NodeSpec* of_node = node()) return count * of_node->chips;
  for (const int size : torus()->shape) count *= size;
  return count;
}

}  // namespace lockstep::topologies
