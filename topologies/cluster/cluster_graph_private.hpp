#pragma once
/// The graph inside a Cluster: its nodes, its links, and a table from a device, an axis and a direction to the link
/// there.
#include "topologies/cluster/cluster.hpp"

namespace lockstep::topologies {

struct Cluster::Graph {
  Graph(int devices, int axes);
  NodeId add_node(NodeKind kind, std::string name);
  LinkId add_link(const Link& link);

  Indexed<NodeId, Node> nodes;
  Indexed<LinkId, Link> links;
  struct Neighbours {
    LinkId up = -1, down = -1;  ///< links in the + and the - direction; -1 where a line ends
    [[nodiscard]] LinkId& towards(int direction) { return direction > 0 ? up : down; }
  };
  Grid<DeviceId, AxisId, Neighbours> neighbours;
};

}  // namespace lockstep::topologies
