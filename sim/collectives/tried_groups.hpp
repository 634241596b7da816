#pragma once
/// Groups of the meshes that are tried on one cluster, as far as their costs go. Where positions of the cluster are
/// alike, one group of each orbit stands for all (topologies/placement/group_orbits.hpp), and serves every mesh on
/// which the same axes lie alike.
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/collectives/group_network.hpp"
#include "topologies/cluster/cluster_symmetry.hpp"

namespace lockstep::collectives {

class TriedGroups {
 public:
  /// The cluster must outlive this object. `avoids_links`: its routes go around some, so no positions are alike.
  TriedGroups(const topologies::Cluster& cluster, bool avoids_links)
      : cluster_(cluster), symmetry_(cluster), alike_(!avoids_links && symmetry_.any()) {}

  [[nodiscard]] const topologies::Cluster& cluster() const { return cluster_; }
  /// The groups along these axes, or null where no positions are alike or an axis is named in part. They know costs,
  /// but have no communicator of all groups.
  [[nodiscard]] GroupNetwork* along(const topologies::Mesh& mesh, const std::vector<std::string>& axes_in_mesh_order);

 private:
  const topologies::Cluster& cluster_;
  topologies::ClusterSymmetry symmetry_;
  bool alike_;                                           ///< some positions of the cluster
  using Place = std::vector<std::tuple<int, int, int>>;  ///< physical axis, size and stride of every factor
  std::map<Place, GroupNetwork> groups_;
};

}  // namespace lockstep::collectives
