#include "topologies/placement/group_orbits.hpp"

#include <algorithm>

#include "topologies/placement/group_geometry_private.hpp"

namespace lockstep::topologies {
namespace {

/// The parts of the physical axes that some factors leave.
std::vector<Factor> left_by(const Cluster& cluster, std::vector<Factor> taken) {
  std::sort(taken.begin(), taken.end(), [](const Factor& a, const Factor& b) {
    return std::tie(a.axis, a.stride, a.size) < std::tie(b.axis, b.stride, b.size);
  });
  std::vector<Factor> left;
  for (int axis = 0; std::cmp_less(axis, cluster.axes().size()); ++axis) {
    int stride = 1;
    const auto leave_until = [&](int next) {
      if (next > stride) left.push_back({axis, next / stride, stride});
    };
    for (const auto& factor : taken) {
      if (factor.axis != axis || factor.size == 1) continue;
      leave_until(factor.stride);
      stride = factor.stride * factor.size;
    }
    leave_until(cluster.axes()[axis].size);
  }
  return left;
}

/// A factor cut where blocks end: the parts along which blocks inside one larger block change places, and the rest.
struct CutFactor {
  std::vector<Factor> alike, other;
};

CutFactor cut_at_blocks(Factor factor, const std::vector<int>& blocks) {
  CutFactor made;
  while (factor.size > 1) {
    const auto outer = std::upper_bound(blocks.begin(), blocks.end(), factor.stride);
    if (outer == blocks.begin() || outer == blocks.end() || factor.stride % *std::prev(outer) != 0 ||
        *outer % factor.stride != 0)
      break;
    const int size = std::min(factor.size, *outer / factor.stride);
    if (factor.size % size != 0 || *outer % (factor.stride * size) != 0) break;
    made.alike.push_back({factor.axis, size, factor.stride});
    factor.size /= size;
    factor.stride *= size;
  }
  if (factor.size > 1) made.other.push_back(factor);
  return made;
}

}  // namespace

GroupOrbits::GroupOrbits(const Cluster& cluster, const ClusterSymmetry& symmetry, const std::vector<Factor>& own,
                         const std::vector<Factor>& apart)
    : symmetry_(symmetry) {
  auto taken = own;
  taken.insert(taken.end(), apart.begin(), apart.end());
  std::vector<Factor> listed;  // coordinates whose values are gone through one by one
  for (const auto& factor : left_by(cluster, taken)) {
    const auto cut = cut_at_blocks(factor, symmetry.blocks(factor.axis));
    shifts_.insert(shifts_.end(), cut.alike.begin(), cut.alike.end());
    listed.insert(listed.end(), cut.other.begin(), cut.other.end());
  }
  for (const auto& factor : apart) {
    const auto cut = cut_at_blocks(factor, symmetry.blocks(factor.axis));
    listed.insert(listed.end(), cut.other.begin(), cut.other.end());
  }
  const auto members = device_offsets(cluster, own);
  for (const auto first : device_offsets(cluster, listed)) {
    auto& group = groups_.emplace_back(members);
    for (auto& device : group) device += first;
  }
}

std::int32_t GroupOrbits::times(LinkId link) const {
  std::int32_t times = 1;
  for (const auto& shift : shifts_) {
    if (shift.stride < symmetry_.block_below(link, shift.axis)) times *= shift.size;
  }
  return times;
}

}  // namespace lockstep::topologies
