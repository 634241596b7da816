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
  explicit FirstLinks(Indexed<NodeId, LinkId>& reached_by) : reached_by_(&reached_by) {}
  void tree_edge(const Connections::edge_descriptor& edge, const Connections& connections) {
    (*reached_by_)[boost::target(edge, connections)] = connections[edge].id;
  }

 private:
  Indexed<NodeId, LinkId>* reached_by_;
};

}  // namespace

Cluster::Graph::Graph(int devices, int axes) : neighbours(devices, axes) {}

NodeId Cluster::Graph::add_node(NodeKind kind, std::string name) {
  return static_cast<NodeId>(boost::add_vertex(Node{kind, std::move(name)}, connections));
}

LinkId Cluster::Graph::add_link(const Link& link) {
  const LinkId id = links.next_id();
  links.push_back(link);
  boost::add_edge(position_of(link.from), position_of(link.to), Edge{id}, connections);
  if (link.axis >= 0) neighbours(link.from, link.axis).towards(link.direction) = id;
  return id;
}

std::vector<LinkId> Cluster::route_nodes(NodeId from, NodeId to) const {
  Indexed<NodeId, LinkId> reached_by(boost::num_vertices(graph_->connections), -1);
  boost::breadth_first_search(graph_->connections, position_of(from), boost::visitor(FirstLinks(reached_by)));
  std::vector<LinkId> route;
  for (NodeId node = to; node != from; node = link(route.back()).from) {
    const LinkId last = reached_by[node];
    if (last < 0) throw InternalError("no route from " + this->node(from).name + " to " + this->node(to).name);
    route.push_back(last);
  }
  std::reverse(route.begin(), route.end());
  return route;
}

}  // namespace lockstep::topologies
