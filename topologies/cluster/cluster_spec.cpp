#include "topologies/cluster/cluster_spec.hpp"

namespace lockstep::topologies {

const Chip& ClusterSpec::chip() const { return torus() != nullptr ? torus()->chip : node()->chip; }
Chip& ClusterSpec::chip() {
  if (auto* pod = std::get_if<TorusSpec>(&unit)) return pod->chip;
  return std::get<NodeSpec>(unit).chip;
}

std::int64_t ClusterSpec::devices() const {
  std::int64_t count = std::int64_t{units} * halls;
  if (const NodeSpec* of_node = node()) return count * of_node->chips;
  for (const int size : torus()->shape) count *= size;
  return count;
}

}  // namespace lockstep::topologies
