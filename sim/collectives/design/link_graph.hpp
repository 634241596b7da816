#pragma once
/// The network that a group of ranks may use, as arcs with whole capacities.
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "topologies/cluster/cluster.hpp"

namespace lockstep::collectives::design {

__extension__ using Wide = __int128;  ///< products of two capacities

/// Nodes are numbered from 0; the members of the group come first, in its order, then switches and all else that only
/// passes data on.
struct LinkGraph {
  int members = 0, nodes = 0;
  std::map<std::pair<int, int>, std::int64_t> arcs;  ///< from and to; the capacity, at least 1

  void add(int from, int to, std::int64_t capacity);
  [[nodiscard]] LinkGraph reversed() const;
  friend bool operator==(const LinkGraph&, const LinkGraph&) = default;
};

using LinkRate = std::function<BytesPerSecond(topologies::LinkId)>;

/// What a group has of a cluster.
struct GroupLinks {
  std::size_t group = 0;                      ///< its number
  LinkGraph graph;                            ///< capacities in bytes per second, over `unit`
  std::int64_t unit = 1;                      ///< what all of them are multiples of
  std::vector<topologies::NodeId> node_of{};  ///< of the cluster, for each node of the graph
};

/// All links of a cluster that may be part of a way between members of the group. `rate`: of a link, rounded down to
/// whole bytes per second.
[[nodiscard]] GroupLinks links_of_cluster(const topologies::Cluster& cluster,
                                          const std::vector<topologies::DeviceId>& group, const LinkRate& rate);

/// The links that groups have when they run at once, once for all groups whose graphs are the same: those that the
/// cluster's routes between their members take, and of each of them as much as every other group that takes it.
[[nodiscard]] std::vector<GroupLinks> links_of_groups(const topologies::Cluster& cluster,
                                                      const std::vector<std::vector<topologies::DeviceId>>& groups,
                                                      const LinkRate& rate);

}  // namespace lockstep::collectives::design
