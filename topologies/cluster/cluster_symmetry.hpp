#pragma once
/// Which devices of a cluster may change places without changing any route. Chips that share a NIC, NICs of a unit,
/// units under one leaf, leaves under one spine and so on are alike where every switch has one link upwards (routes
/// that are sprayed) and as much below it as its neighbours. Found on the links of the graph, whatever built it.
#include <cstdint>
#include <vector>

#include "sim/core/indexed.hpp"
#include "topologies/cluster/cluster.hpp"

namespace lockstep::topologies {

class ClusterSymmetry {
 public:
  explicit ClusterSymmetry(const Cluster& cluster);

  /// The sizes of the blocks along a physical axis that may change places inside the next larger block, ascending, from
  /// 1 to the whole axis. Empty: positions along the axis differ.
  [[nodiscard]] const std::vector<int>& blocks(int axis) const { return blocks_[axis]; }
  [[nodiscard]] bool any() const;

  /// The size, along a physical axis, of the block that a link joins to the rest; 1 for a link between two devices.
  [[nodiscard]] int block_below(LinkId link, int axis) const { return below_[kinds_[link]][axis]; }

 private:
  class Finder;

  Indexed<AxisId, std::vector<int>> blocks_;           ///< by axis
  Indexed<LinkId, std::int32_t> kinds_;                ///< by link: what it is and in which tier
  Indexed<std::int32_t, Indexed<AxisId, int>> below_;  ///< by kind of link and axis
};

}  // namespace lockstep::topologies
