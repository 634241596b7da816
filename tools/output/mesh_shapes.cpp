#include "tools/output/mesh_shapes.hpp"

namespace lockstep {

std::vector<std::string> shapes_of(const Cluster& cluster, const Mesh& mesh, const std::string& axis) {
  std::vector<std::string> shapes;
  for (const auto& dimension : mesh.dimensions({axis})) shapes.push_back(dimension.label);
  for (const auto& factor : mesh.axis(axis).factors) {
    const auto& physical = cluster.axes()[static_cast<std::size_t>(factor.axis)];
    if (factor.size > 1 && physical.kind != PhysicalAxis::Kind::torus) shapes.push_back(std::to_string(factor.size) + " on " + physical.name);
  }
  return shapes;
}

}  // namespace lockstep
