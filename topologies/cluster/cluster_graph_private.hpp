#pragma once
/// The graph inside a Cluster: Boost.Graph for connectivity and search, and a table from a device,
/// an axis and a direction to the link there.
#include <boost/graph/adjacency_list.hpp>

#include "topologies/cluster/cluster.hpp"

namespace lockstep::topologies {

struct Cluster::Graph {
  struct Edge {
    LinkId id;
  };
  using Connections = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, Node, Edge>;

  Graph(int devices, int axes);
  NodeId add_node(NodeKind kind, std::string name);
  LinkId add_link(const Link& link);
  /// The index in `neighbours` of the link that leaves a device along an axis.
  [[nodiscard]] std::size_t slot(DeviceId device, int axis, int direction) const;

  int axes;
  Connections connections;
  std::vector<Link> links;         ///< by LinkId
  std::vector<LinkId> neighbours;  ///< by slot; -1 where a line ends
};

}  // namespace lockstep::topologies
