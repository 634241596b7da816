#include <algorithm>
#include <boost/graph/breadth_first_search.hpp>
#include <utility>

#include "sim/core/errors.hpp"
#include "topologies/cluster/cluster_graph_private.hpp"

namespace lockstep::topologies {
namespace {

using Connections = Cluster::Graph::Connections;

/// Notes the link by which a search first reaches each node.
class FirstLinks : public boost::default_bfs_visitor {
 public:
  explicit FirstLinks(std::vector<LinkId>& reached_by) : reached_by_(&reached_by) {}
  void tree_edge(const Connections::edge_descriptor& edge, const Connections& connections) {
    (*reached_by_)[boost::target(edge, connections)] = connections[edge].id;
  }

 private:
  std::vector<LinkId>* reached_by_;
};

}  // namespace

Cluster::Graph::Graph(int devices, int axis_count)
    : axes(axis_count), neighbours(static_cast<std::size_t>(devices) * static_cast<std::size_t>(axis_count) * 2, -1) {}

NodeId Cluster::Graph::add_node(NodeKind kind, std::string name) {
  return static_cast<NodeId>(boost::add_vertex(Node{kind, std::move(name)}, connections));
}

LinkId Cluster::Graph::add_link(const Link& link) {
  const auto id = static_cast<LinkId>(links.size());
  links.push_back(link);
  boost::add_edge(static_cast<std::size_t>(link.from), static_cast<std::size_t>(link.to), Edge{id}, connections);
  if (link.axis >= 0) neighbours[slot(link.from, link.axis, link.direction)] = id;
  return id;
}

std::size_t Cluster::Graph::slot(DeviceId device, int axis, int direction) const {
  const std::size_t device_and_axis =
      static_cast<std::size_t>(device) * static_cast<std::size_t>(axes) + static_cast<std::size_t>(axis);
  return 2 * device_and_axis + (direction > 0 ? 0 : 1);
}

std::vector<LinkId> Cluster::route_nodes(NodeId from, NodeId to) const {
  std::vector<LinkId> reached_by(boost::num_vertices(graph_->connections), -1);
  boost::breadth_first_search(graph_->connections, static_cast<std::size_t>(from),
                              boost::visitor(FirstLinks(reached_by)));
  std::vector<LinkId> route;
  for (NodeId node = to; node != from; node = link(route.back()).from) {
    const LinkId last = reached_by[static_cast<std::size_t>(node)];
    if (last < 0) throw InternalError("no route from " + this->node(from).name + " to " + this->node(to).name);
    route.push_back(last);
  }
  std::reverse(route.begin(), route.end());
  return route;
}

}  // namespace lockstep::topologies
