#include <algorithm>

#include "topologies/group_geometry_private.hpp"

namespace lockstep {
namespace {

std::string padded(std::string text, std::size_t width, bool right) {
  const std::string fill(width - std::min(width, text.size()), ' ');
  return right ? fill + text : text + fill;
}

std::string text_of(const Cluster& cluster, const MeshAxis& axis) {
  std::string text;
  for (const Factor& factor : axis.factors) {
    if (!text.empty()) text += " * ";
    text += cluster.axes()[static_cast<std::size_t>(factor.axis)].name + '/' + std::to_string(factor.size);
    if (factor.stride > 1) text += " (stride " + std::to_string(factor.stride) + ')';
  }
  return text.empty() ? "1" : text;
}

std::string text_of(const std::vector<GroupDimension>& dimensions) {
  std::string text;
  for (const GroupDimension& dimension : dimensions) {
    if (!text.empty()) text += ", ";
    text += dimension.label;
    if (dimension.links_per_hop == 1 && dimension.sharing == 1) continue;
    const bool ring = dimension.shape == GroupDimension::Shape::ring;
    text += " (hop " + std::to_string(dimension.links_per_hop) + " links, " + std::to_string(dimension.sharing) +
            (ring ? " rings" : " lines") + " share each link)";
  }
  return text;
}

/// What a group along one mesh axis looks like: rings and lines, then what lies behind switches.
std::string shape_of(const Cluster& cluster, const MeshAxis& axis, const std::vector<GroupDimension>& dimensions) {
  std::string text = text_of(dimensions);
  for (const Factor& factor : switched_factors(cluster, axis.factors)) {
    if (!text.empty()) text += ", ";
    text += std::to_string(factor.size) + " on " + cluster.axes()[static_cast<std::size_t>(factor.axis)].name;
  }
  return text.empty() ? "nothing to exchange" : text;
}

}  // namespace

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
            padded(factors[i], factor_width, false) + "   " +
            shape_of(*cluster_, axes_[i], dimensions({axes_[i].name})) + '\n';
  }
  return text;
}

}  // namespace lockstep
