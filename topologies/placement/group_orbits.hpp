#pragma once
/// The groups along some axes that symmetries of the cluster map to each other. A group lies at some coordinates of the
/// axes that are not its own; where the positions along such a coordinate are alike (cluster_symmetry.hpp), shifting it
/// in a circle maps every group to another one of the same routes. One group of each orbit then stands for all. The
/// load that all put on a link is the sum over the shifts t of what the one group puts on the link t l. A route crosses
/// only links above its ends, and those of one group are moved apart by every shift of a block below which they do not
/// lie, so of the shifts only those inside the block below l count:
///   load(l) = (shifts that leave l where it is) x load of the one group on l.
#include <cstdint>
#include <vector>

#include "topologies/cluster/cluster_symmetry.hpp"
#include "topologies/placement/mesh.hpp"

namespace lockstep::topologies {

class GroupOrbits {
 public:
  /// `own`: the factors along which groups extend. `apart`: factors along which groups are alike but not counted
  /// together, such as those of a pipeline whose stages run at different times.
  GroupOrbits(const Cluster& cluster, const ClusterSymmetry& symmetry, const std::vector<Factor>& own,
              const std::vector<Factor>& apart = {});

  /// The devices of one group of each orbit, in mesh order.
  [[nodiscard]] const std::vector<std::vector<DeviceId>>& groups() const { return groups_; }

  /// How often all groups cross a link for each time that those listed cross it.
  [[nodiscard]] std::int32_t times(LinkId link) const;

 private:
  const ClusterSymmetry& symmetry_;
  std::vector<Factor> shifts_;  ///< coordinates that are shifted
  std::vector<std::vector<DeviceId>> groups_;
};

}  // namespace lockstep::topologies
