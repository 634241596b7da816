#include "topologies/placement/mesh.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/core/errors.hpp"
#include "topologies/placement/axis_digits.hpp"
#include "topologies/placement/group_geometry_private.hpp"

namespace lockstep::topologies {
namespace {

/// An axis cut into groups of neighbours: the positions in a group, and those of the groups.
struct CutAxis {
  std::vector<Factor> within, between;
};

/// The nearest positions go into the groups first. Positions on the last physical axis are nearest.
CutAxis cut(const MeshAxis& axis, std::int64_t size) {
  CutAxis result{axis.factors, axis.factors};
  std::vector<std::size_t> nearest(axis.factors.size());
  std::iota(nearest.begin(), nearest.end(), std::size_t{0});
  std::sort(nearest.begin(), nearest.end(), [&](std::size_t a, std::size_t b) {
    const Factor &one = axis.factors[a], &other = axis.factors[b];
    return std::tuple(-one.axis, one.stride, one.size) < std::tuple(-other.axis, other.stride, other.size);
  });
  for (const std::size_t i : nearest) {
    const int inside = static_cast<int>(std::gcd(size, static_cast<std::int64_t>(axis.factors[i].size)));
    size /= inside;
    result.within[i].size = inside;
    result.between[i].size /= inside;
    result.between[i].stride *= inside;
  }
  if (size != 1) throw InternalError("a part of mesh axis " + axis.name + " does not divide it");
  return result;
}

/// The factors of the mesh axes that are named (or, with `named` false, that are not), in mesh order.
std::vector<Factor> factors_of(const Mesh& mesh, const std::vector<std::string>& names, bool named) {
  std::vector<Factor> factors;
  const auto append = [&](const std::vector<Factor>& more) { factors.insert(factors.end(), more.begin(), more.end()); };
  for (const MeshAxis& axis : mesh.axes()) {
    const auto name = std::find_if(names.begin(), names.end(),
                                   [&](const std::string& each) { return axis_part(each).axis == axis.name; });
    const std::int64_t part = name == names.end() ? 0 : axis_part(*name).size;
    if (part > 0) {
      const CutAxis parts = cut(axis, part);
      append(named == is_outer_digit(*name) ? parts.between : parts.within);
    } else if ((name != names.end()) == named) {
      append(axis.factors);
    }
  }
  return factors;
}

/// Every position is taken once exactly if, on each physical axis, each factor's stride is the product
/// of the smaller factors and all of them multiply to the axis.
void expect_every_position_once(const Cluster& cluster, std::vector<Factor> factors) {
  std::sort(factors.begin(), factors.end(), [](const Factor& a, const Factor& b) {
    return std::tie(a.axis, a.stride, a.size) < std::tie(b.axis, b.stride, b.size);
  });
  Indexed<AxisId, std::int64_t> taken(cluster.axes().size(), 1);
  for (const Factor& factor : factors) {
    if (factor.size == 1) continue;
    if (!taken.contains(factor.axis) || factor.size < 1 || factor.stride != taken[factor.axis]) {
      throw InternalError("mesh axes overlap or leave gaps");
    }
    taken[factor.axis] *= factor.size;
  }
  for (const AxisId axis : taken.ids()) {
    if (taken[axis] != cluster.axes()[axis].size) {
      throw InternalError("mesh axes do not cover physical axis " + cluster.axes()[axis].name);
    }
  }
}

void expect_known(const Mesh& mesh, const std::vector<std::string>& names) {
  for (const std::string& name : names) static_cast<void>(mesh.axis(axis_part(name).axis));
}

}  // namespace

AxisPart axis_part(std::string_view name) {
  const auto sign = name.find_first_of("/%");
  AxisPart part{std::string(name.substr(0, sign)), 0};
  if (sign == std::string_view::npos) return part;
  std::from_chars(name.data() + sign + (is_outer_digit(name) ? 2 : 1), name.data() + name.size(), part.size);
  return part;
}

AxisDigits digits(const std::string& axis, std::int64_t inner_size) {
  const auto size = std::to_string(inner_size);
  return {axis + "//" + size, axis + '%' + size};
}

bool is_outer_digit(std::string_view name) { return name.find("//") != std::string_view::npos; }

std::string part_name(const std::string& axis, std::int64_t size) { return axis + '/' + std::to_string(size); }

std::vector<std::vector<LinkId>> Lane::hops() const {
  std::vector<std::vector<LinkId>> hops;
  for (auto at = links.begin(); at != links.end(); at += links_per_hop) hops.emplace_back(at, at + links_per_hop);
  if (direction < 0) std::reverse(hops.begin(), hops.end());
  return hops;
}

int MeshAxis::size() const {
  int size = 1;
  for (const Factor& factor : factors) size *= factor.size;
  return size;
}

Mesh::Mesh(const Cluster& cluster, std::vector<MeshAxis> axes, std::string why_placed)
    : cluster_(&cluster), axes_(std::move(axes)), why_placed_(std::move(why_placed)) {
  const std::vector<Factor> factors = factors_of(*this, {}, false);
  expect_every_position_once(cluster, factors);
  device_of_rank_ = device_offsets(cluster, factors);
  for (DeviceId& device : device_of_rank_) device = cluster.device_at_position(device);
  rank_of_device_.resize(device_of_rank_.size());
  for (const RankId rank : device_of_rank_.ids()) rank_of_device_[device_of_rank_[rank]] = rank;
}

const MeshAxis& Mesh::axis(const std::string& name) const {
  for (const MeshAxis& axis : axes_) {
    if (axis.name == name) return axis;
  }
  throw InternalError("the mesh has no axis " + name);
}

bool Mesh::has_axis(const std::string& name) const {
  return std::any_of(axes_.begin(), axes_.end(), [&](const MeshAxis& axis) { return axis.name == name; });
}

std::vector<Factor> Mesh::factors(const std::string& axis_or_part) const {
  expect_known(*this, {axis_or_part});
  return factors_of(*this, {axis_or_part}, true);
}

int Mesh::ranks() const { return static_cast<int>(device_of_rank_.size()); }

GroupDimensions Mesh::dimensions(const std::vector<std::string>& axes, BlockShape block) const {
  expect_known(*this, axes);
  GroupDimensions dimensions;
  for (DimensionGeometry& geometry : group_geometry(*cluster_, factors_of(*this, axes, true), block)) {
    dimensions.push_back(std::move(geometry.shape));
  }
  return dimensions;
}

std::vector<Group> Mesh::groups(const std::vector<std::string>& axes, BlockShape block) const {
  expect_known(*this, axes);
  const std::vector<Factor> inside = factors_of(*this, axes, true);
  const std::vector<DimensionGeometry> geometry = group_geometry(*cluster_, inside, block);

  // A dimension's lanes start where all other dimensions of the group put them, and in every pod that it spans.
  std::vector<std::vector<DeviceId>> origins;
  std::size_t lanes = 0;
  for (std::size_t own = 0; own < geometry.size(); ++own) {
    std::vector<Factor> others = switched_factors(*cluster_, inside);
    for (std::size_t i = 0; i < geometry.size(); ++i) {
      if (i == own) continue;
      for (Factor factor : geometry[i].factors) {
        if (factor.axis == geometry[own].starts_in_half) factor.size /= 2;
        others.push_back(factor);
      }
    }
    origins.push_back(device_offsets(*cluster_, others));
    lanes += 2 * origins.back().size();
  }

  // Offsets are of positions; an order of ranks puts these on devices, whole pods at a time where there are lanes.
  const std::vector<DeviceId> members = device_offsets(*cluster_, inside);
  std::vector<Group> groups;
  for (const DeviceId first : device_offsets(*cluster_, factors_of(*this, axes, false))) {
    Group group;
    group.members.reserve(members.size());
    group.lanes.reserve(lanes);
    for (const DeviceId member : members)
      group.members.push_back(rank_of(cluster_->device_at_position(first + member)));
    for (std::size_t dimension = 0; dimension < geometry.size(); ++dimension) {
      for (const DeviceId origin : origins[dimension]) {
        add_lanes(*cluster_, geometry[dimension], static_cast<int>(dimension),
                  cluster_->device_at_position(first + origin), group.lanes);
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace lockstep::topologies
