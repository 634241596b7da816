#include "topologies/cluster/twisted_torus.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace lockstep::topologies {
namespace {

/// The axes of a torus, and how each is twisted along the others.
struct Lattice {
  std::vector<int> sizes;
  std::vector<bool> wraps;
  std::vector<std::vector<int>> twists;  ///< by axis; empty: not twisted
};

int shorter_way(int steps, int size) {
  const int forward = ((steps % size) + size) % size;
  return 2 * forward <= size ? forward : forward - size;
}

/// Calls `visit` with the hops along each axis of every way that goes round no twisted axis more than once, those that
/// go round least first.
template <class Visit>
void each_way(const Lattice& lattice, const std::vector<int>& distance, Visit visit) {
  const std::size_t axes = lattice.sizes.size();
  std::size_t ways = 1;
  for (const auto& twist : lattice.twists) {
    if (!twist.empty()) ways *= 3;
  }
  std::vector<int> hops(axes);
  for (std::size_t way = 0; way < ways; ++way) {
    hops = distance;
    std::size_t left = way;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const auto& twist = lattice.twists[axis];
      if (twist.empty()) continue;
      const int laps = std::vector{0, 1, -1}[left % 3];
      left /= 3;
      hops[axis] += laps * lattice.sizes[axis];
      for (std::size_t other = 0; other < axes; ++other) hops[other] -= laps * twist[other];
    }
    for (std::size_t axis = 0; axis < axes; ++axis) {
      if (lattice.twists[axis].empty() && lattice.wraps[axis])
        hops[axis] = shorter_way(hops[axis], lattice.sizes[axis]);
    }
    visit(hops);
  }
}

int length(const std::vector<int>& hops) {
  return std::accumulate(hops.begin(), hops.end(), 0, [](int sum, int each) { return sum + std::abs(each); });
}

Lattice lattice_of(const Cluster& cluster, const std::vector<AxisId>& axes) {
  const AxisId first = first_of_torus(cluster);
  Lattice lattice;
  for (const AxisId axis : axes) {
    const PhysicalAxis& physical = cluster.axes()[axis];
    lattice.sizes.push_back(physical.size);
    lattice.wraps.push_back(physical.wraps);
    auto& twist = lattice.twists.emplace_back();
    if (physical.twist.empty()) continue;
    for (const AxisId other : axes) twist.push_back(physical.twist[position_of(other - first)]);
  }
  return lattice;
}

std::vector<AxisId> axes_of_torus(const Cluster& cluster) {
  std::vector<AxisId> axes;
  for (AxisId axis = first_of_torus(cluster); axis < cluster.axes().count(); ++axis) axes.push_back(axis);
  return axes;
}

}  // namespace

std::vector<std::vector<int>> twists_of(const std::vector<int>& shape) {
  if (shape.size() != 3) return {};
  const auto [shortest, longest] = std::minmax_element(shape.begin(), shape.end());
  const int side = *shortest;
  if (side < 2 || *longest != 2 * side) return {};
  std::vector<std::vector<int>> twists(shape.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != side && shape[axis] != 2 * side) return {};
    if (shape[axis] != side) continue;
    for (const int size : shape) twists[axis].push_back(size == 2 * side ? side : 0);
  }
  return twists;
}

AxisId first_of_torus(const Cluster& cluster) {
  AxisId axis = 0;
  while (axis < cluster.axes().count() && cluster.axes()[axis].kind != PhysicalAxis::Kind::torus) ++axis;
  return axis;
}

std::vector<int> shortest_hops(const Cluster& cluster, DeviceId from, DeviceId to) {
  const auto axes = axes_of_torus(cluster);
  const auto start = cluster.coordinates(from), end = cluster.coordinates(to);
  std::vector<int> distance, best;
  for (const AxisId axis : axes) distance.push_back(end[position_of(axis)] - start[position_of(axis)]);
  each_way(lattice_of(cluster, axes), distance, [&](const std::vector<int>& hops) {
    if (best.empty() || length(hops) < length(best)) best = hops;
  });
  return best;
}

TwistedRing twisted_ring(const Cluster& cluster, const std::vector<AxisId>& axes) {
  const Lattice lattice = lattice_of(cluster, axes);
  std::int64_t chips = 1, sum = 0;
  for (const int size : lattice.sizes) chips *= size;
  int diameter = 0;
  std::vector<int> distance(axes.size(), 0);
  for (std::int64_t chip = 0; chip < chips; ++chip) {
    std::int64_t left = chip;
    for (std::size_t axis = 0; axis < axes.size(); ++axis, left /= lattice.sizes[axis - 1])
      distance[axis] = static_cast<int>(left % lattice.sizes[axis]);
    int least = length(distance);
    each_way(lattice, distance, [&](const std::vector<int>& hops) { least = std::min(least, length(hops)); });
    sum += least;
    diameter = std::max(diameter, least);
  }
  const auto links = 2 * chips * static_cast<std::int64_t>(axes.size());
  return {static_cast<double>(sum) / static_cast<double>(links), diameter};
}

}  // namespace lockstep::topologies
