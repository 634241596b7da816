#include "sim/collectives/tried_groups.hpp"

namespace lockstep::collectives {

GroupNetwork* TriedGroups::along(const topologies::Mesh& mesh, const std::vector<std::string>& axes_in_mesh_order) {
  if (!alike_) return nullptr;
  std::vector<topologies::Factor> factors;
  Place place;
  for (const auto& name : axes_in_mesh_order) {
    if (topologies::axis_part(name).size > 0) return nullptr;
    for (const auto& factor : mesh.axis(name).factors) {
      factors.push_back(factor);
      place.emplace_back(factor.axis, factor.size, factor.stride);
    }
  }
  const auto found = groups_.find(place);
  if (found != groups_.end()) return &found->second;
  return &groups_.try_emplace(place, cluster_, topologies::GroupOrbits(cluster_, symmetry_, factors)).first->second;
}

}  // namespace lockstep::collectives
