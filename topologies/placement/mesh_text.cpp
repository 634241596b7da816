#include <algorithm>

#include "topologies/placement/group_geometry_private.hpp"

namespace lockstep::topologies {
namespace {

std::string padded(std::string text, std::size_t width, bool right) {
  const std::string fill(width - std::min(width, text.size()), ' ');
  return right ? fill + text : text + fill;
}

std::string text_of(const Cluster& cluster, const MeshAxis& axis) {
  std::string text;
  for (const Factor& factor : axis.factors) {
    if (!text.empty()) text += " * ";
    text += cluster.axes()[factor.axis].name + '/' + std::to_string(factor.size);
    if (factor.stride > 1) text += " (stride " + std::to_string(factor.stride) + ')';
  }
  return text.empty() ? "1" : text;
}

std::string sharing_of(const GroupDimension& dimension) {
  if (dimension.links_per_hop == 1 && dimension.sharing == 1) return "";
  const bool ring = dimension.shape == GroupDimension::Shape::ring;
  return " (hop " + std::to_string(dimension.links_per_hop) + " links, " + std::to_string(dimension.sharing) +
         (ring ? " rings" : " lines") + " share each link)";
}

/// The shapes, and how rings and lines share links.
std::string shapes_text(const Mesh& mesh, const std::string& axis) {
  const GroupDimensions dimensions = mesh.dimensions({axis});
  std::string text;
  std::size_t i = 0;
  for (const std::string& shape : mesh.shapes(axis)) {
    text += (text.empty() ? "" : ", ") + shape;
    if (i < dimensions.size()) text += sharing_of(dimensions[i++]);
  }
  return text.empty() ? "nothing to exchange" : text;
}

}  // namespace

std::vector<std::string> Mesh::shapes(const std::string& axis) const {
  std::vector<std::string> shapes;
  for (const GroupDimension& dimension : dimensions({axis})) shapes.push_back(dimension.label);
  for (const Factor& factor : switched_factors(*cluster_, this->axis(axis).factors))
    shapes.push_back(std::to_string(factor.size) + " on " + cluster_->axes()[factor.axis].name);
  return shapes;
}

std::string Mesh::to_string() const {
  std::vector<std::string> factors;
  std::size_t name_width = 0, size_width = 0, factor_width = 0;
  for (const MeshAxis& axis : axes_) {
    factors.push_back(text_of(*cluster_, axis));
    name_width = std::max(name_width, axis.name.size());
    size_width = std::max(size_width, std::to_string(axis.size()).size());
    factor_width = std::max(factor_width, factors.back().size());
  }
  std::string text = "mesh of " + std::to_string(ranks()) + " ranks on " + cluster_->name();
  if (!why_placed_.empty()) text += ", " + why_placed_;
  text += '\n';
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    text += "  " + padded(axes_[i].name, name_width, false) + "  " +
            padded(std::to_string(axes_[i].size()), size_width, true) + " = " +
            padded(factors[i], factor_width, false) + "   " + shapes_text(*this, axes_[i].name) + '\n';
  }
  return text;
}

}  // namespace lockstep::topologies
