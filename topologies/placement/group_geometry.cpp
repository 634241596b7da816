#include "topologies/cluster/twisted_torus.hpp"
#include "topologies/placement/group_geometry_private.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace lockstep::topologies {
namespace {

const PhysicalAxis& axis_of(const Cluster& cluster, const Factor& factor) { return cluster.axes()[factor.axis]; }

bool is_torus(const Cluster& cluster, const Factor& factor) {
  return axis_of(cluster, factor).kind == PhysicalAxis::Kind::torus;
}

/// Factors of one axis that continue each other (stride = size x stride of the one before) become one.
std::vector<Factor> merged(std::vector<Factor> factors) {
  std::erase_if(factors, [](const Factor& factor) { return factor.size == 1; });
  std::sort(factors.begin(), factors.end(),
            [](const Factor& a, const Factor& b) { return std::tie(a.axis, a.stride) < std::tie(b.axis, b.stride); });
  std::vector<Factor> merged;
  for (const Factor& next : factors) {
    if (!merged.empty() && merged.back().axis == next.axis &&
        merged.back().size * merged.back().stride == next.stride) {
      merged.back().size *= next.size;
    } else {
      merged.push_back(next);
    }
  }
  return merged;
}

/// One factor: a ring if it reaches round a wrapped axis (whole, or strided to the end), else a line.
/// With stride s, s interleaved siblings cross each link.
DimensionGeometry along_one_axis(const Cluster& cluster, const Factor& factor) {
  const PhysicalAxis& axis = axis_of(cluster, factor);
  const bool ring = axis.wraps && axis.twist.empty() && factor.size * factor.stride == axis.size;
  const std::string label = (ring ? "ring of " : "line of ") + std::to_string(factor.size) + " on " + axis.name;
  const GroupDimension shape{ring ? GroupDimension::Shape::ring : GroupDimension::Shape::line,
                             factor.size,
                             factor.stride,
                             factor.stride,
                             axis.link,
                             factor.stride * axis.hop_latency,
                             label};
  const int hops = ring ? factor.size : factor.size - 1;
  DimensionGeometry geometry{shape, {factor}, {}};
  for (int hop = 0; hop < hops; ++hop) geometry.steps.push_back({factor.axis, 1});
  return geometry;
}

/// The closed way through all even x across chips of a block: out along the near edge of the even
/// side, back in a zigzag that keeps off that edge until it is home.
std::vector<Step> cycle_through_block(const Factor& even, const Factor& across) {
  std::vector<Step> steps;
  const auto go = [&steps](AxisId axis, int direction, int count) {
    for (int hop = 0; hop < count; ++hop) steps.push_back({axis, direction});
  };
  go(even.axis, 1, even.size - 1);
  go(across.axis, 1, across.size - 1);
  for (int row = even.size - 2; row > 0; --row) {
    go(even.axis, -1, 1);
    go(across.axis, row % 2 == 0 ? -1 : 1, across.size - 2);
  }
  go(even.axis, -1, 1);
  go(across.axis, -1, across.size - 1);
  return steps;
}

DimensionGeometry through_block(const Cluster& cluster, const Factor& a, const Factor& b) {
  const PhysicalAxis& axis_a = axis_of(cluster, a);
  const PhysicalAxis& axis_b = axis_of(cluster, b);
  const int members = a.size * b.size;
  const std::string label = "ring of " + std::to_string(members) + " through the " + by_axis({a.size, b.size}) +
                            " block " + axis_a.name + ',' + axis_b.name;
  const GroupDimension shape{GroupDimension::Shape::ring,
                             members,
                             1,
                             1,
                             std::min(axis_a.link, axis_b.link),
                             std::max(axis_a.hop_latency, axis_b.hop_latency),
                             label};
  return {shape, {a, b}, a.size % 2 == 0 ? cycle_through_block(a, b) : cycle_through_block(b, a)};
}

/// Whether the group has the whole axis.
bool has_all_of(const std::vector<Factor>& factors, const Cluster& cluster, AxisId axis) {
  return std::any_of(factors.begin(), factors.end(), [&](const Factor& factor) {
    return factor.axis == axis && factor.size == cluster.axes()[axis].size;
  });
}

/// The axes along which an axis is twisted.
std::vector<AxisId> twisted_along(const Cluster& cluster, AxisId axis) {
  const AxisId first = first_of_torus(cluster);
  std::vector<AxisId> along;
  const auto& twist = cluster.axes()[axis].twist;
  for (std::size_t i = 0; i < twist.size(); ++i) {
    if (twist[i] != 0) along.push_back(first + static_cast<AxisId>(i));
  }
  return along;
}

/// Rings of a group that has a twisted axis and all axes along which it is twisted. A closing link leads on by half of
/// these, so its ring goes round twice. Such groups look the same along all their axes, so each carries as much.
void twist(const Cluster& cluster, const std::vector<Factor>& factors, std::vector<DimensionGeometry>& dimensions) {
  std::vector<AxisId> in_group;
  bool twisted = false;
  for (DimensionGeometry& dimension : dimensions) {
    const AxisId axis = dimension.factors.front().axis;
    const auto along = twisted_along(cluster, axis);
    if (along.empty() || !has_all_of(factors, cluster, axis) ||
        !std::all_of(along.begin(), along.end(), [&](AxisId other) { return has_all_of(factors, cluster, other); }))
      continue;
    twisted = true;
    dimension.shape.shape = GroupDimension::Shape::ring;
    dimension.starts_in_half = along.back();
    const auto once = static_cast<std::size_t>(dimension.shape.members);
    dimension.steps.assign(2 * once, {axis, 1});
    in_group.push_back(axis);
    in_group.insert(in_group.end(), along.begin(), along.end());
  }
  if (!twisted) return;
  std::sort(in_group.begin(), in_group.end());
  in_group.erase(std::unique(in_group.begin(), in_group.end()), in_group.end());
  const TwistedRing ring = twisted_ring(cluster, in_group);
  const int axes = static_cast<int>(in_group.size());
  int left = ring.diameter;
  for (DimensionGeometry& dimension : dimensions) {
    const AxisId axis = dimension.factors.front().axis;
    if (!std::binary_search(in_group.begin(), in_group.end(), axis)) continue;
    const int part = std::min(left, (ring.diameter + axes - 1) / axes);
    dimension.shape.twisted = {ring.exchange, part};
    left -= part;
    dimension.shape.label =
        "twisted ring of " + std::to_string(dimension.steps.size()) + " on " + cluster.axes()[axis].name;
  }
}

bool is_adjacent_line(const DimensionGeometry& geometry) {
  return geometry.shape.shape == GroupDimension::Shape::line && geometry.shape.links_per_hop == 1;
}

}  // namespace

std::vector<DimensionGeometry> group_geometry(const Cluster& cluster, const std::vector<Factor>& factors,
                                              BlockShape block) {
  std::vector<DimensionGeometry> dimensions;
  for (const Factor& factor : merged(factors)) {
    if (is_torus(cluster, factor)) dimensions.push_back(along_one_axis(cluster, factor));
  }
  twist(cluster, merged(factors), dimensions);
  if (block == BlockShape::lines) return dimensions;
  if (std::count_if(dimensions.begin(), dimensions.end(), is_adjacent_line) != 2) return dimensions;

  const auto first = std::find_if(dimensions.begin(), dimensions.end(), is_adjacent_line);
  const auto second = std::find_if(std::next(first), dimensions.end(), is_adjacent_line);
  if (first->shape.members * second->shape.members % 2 != 0) return dimensions;
  *first = through_block(cluster, first->factors.front(), second->factors.front());
  dimensions.erase(second);
  return dimensions;
}

std::vector<Factor> switched_factors(const Cluster& cluster, const std::vector<Factor>& factors) {
  std::vector<Factor> switched = merged(factors);
  std::erase_if(switched, [&](const Factor& factor) { return is_torus(cluster, factor); });
  return switched;
}

std::vector<DeviceId> device_offsets(const Cluster& cluster, const std::vector<Factor>& factors) {
  const PhysicalAxes& axes = cluster.axes();
  Indexed<AxisId, int> devices_per_step(axes.size(), 1);
  for (AxisId axis = axes.count(); axis-- > 1;) devices_per_step[axis - 1] = devices_per_step[axis] * axes[axis].size;

  std::vector<DeviceId> offsets{0};
  for (const Factor& factor : factors) {
    const int step = factor.stride * devices_per_step[factor.axis];
    std::vector<DeviceId> finer;
    finer.reserve(offsets.size() * position_of(factor.size));
    for (const DeviceId offset : offsets) {
      for (int i = 0; i < factor.size; ++i) finer.push_back(offset + i * step);
    }
    offsets = std::move(finer);
  }
  return offsets;
}

void add_lanes(const Cluster& cluster, const DimensionGeometry& geometry, int dimension, DeviceId origin,
               std::vector<Lane>& lanes) {
  const int links_per_hop = geometry.shape.links_per_hop;
  Lane forward{dimension, 1, links_per_hop, {}};
  Lane backward{dimension, -1, links_per_hop, {}};
  const auto links = geometry.steps.size() * position_of(links_per_hop);
  forward.links.reserve(links);
  backward.links.reserve(links);
  DeviceId device = origin;
  for (const Step& step : geometry.steps) {
    for (int i = 0; i < links_per_hop; ++i) {
      forward.links.push_back(cluster.neighbour_link(device, step.axis, step.direction));
      device = cluster.link(forward.links.back()).to;
      backward.links.push_back(cluster.neighbour_link(device, step.axis, -step.direction));
    }
  }
  std::reverse(backward.links.begin(), backward.links.end());
  lanes.push_back(std::move(forward));
  lanes.push_back(std::move(backward));
}

}  // namespace lockstep::topologies
