#include "topologies/cluster/cluster_spec.hpp"

#include "sim/core/errors.hpp"

namespace lockstep {

std::string_view name(FabricKind kind) {
  switch (kind) {
    case FabricKind::crossbar: return "crossbar";
    case FabricKind::fat_tree: return "fat_tree";
    case FabricKind::rail_optimised: return "rail_optimised";
    case FabricKind::dragonfly: return "dragonfly";
  }
  throw InternalError("a fabric of unknown kind");
}

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

}  // namespace lockstep
