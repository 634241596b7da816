#include "workloads/sharding/axis_digits.hpp"

#include <algorithm>

#include "topologies/placement/axis_digits.hpp"
#include "topologies/placement/mesh.hpp"

namespace lockstep::workloads {

bool splits(const std::string& axis, const ShardedTensor& array) {
  return std::any_of(array.dims.begin(), array.dims.end(), [&](const auto& dim) {
    return std::any_of(dim.axes.begin(), dim.axes.end(),
                       [&](const auto& name) { return topologies::axis_part(name).axis == axis; });
  });
}

AxisNames whole_axes(AxisNames axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto part = topologies::axis_part(axes[i]);
    const auto [outer, inner] = topologies::digits(part.axis, part.size);
    if (!contains(axes, outer) || !contains(axes, inner)) continue;
    axes[i] = part.axis;
    std::erase_if(axes,
                  [&, &outer = outer, &inner = inner](const auto& axis) { return axis == outer || axis == inner; });
  }
  return axes;
}

}  // namespace lockstep::workloads
