#include <algorithm>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <utility>

#include "sim/core/errors.hpp"
#include "topologies/cluster/cluster_graph_private.hpp"

namespace lockstep::topologies {
namespace {

/// Made when a route is searched for: most clusters know their routes by arithmetic.
using Connections = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, LinkId>;

Connections connections_of(const Cluster::Graph& graph) {
  std::vector<std::pair<std::size_t, std::size_t>> ends;
  std::vector<LinkId> ids;
  for (const LinkId id : graph.links.ids()) {
    ends.emplace_back(position_of(graph.links[id].from), position_of(graph.links[id].to));
    ids.push_back(id);
  }
  return {boost::edges_are_unsorted_multi_pass, ends.begin(), ends.end(), ids.begin(), graph.nodes.size()};
}

/// Notes the link by which a search first reaches each node.
class FirstLinks : public boost::default_bfs_visitor {
 public:
  explicit FirstLinks(Indexed<NodeId, LinkId>& reached_by) : reached_by_(&reached_by) {}
  void tree_edge(const Connections::edge_descriptor& edge, const Connections& connections) {
    (*reached_by_)[boost::target(edge, connections)] = connections[edge];
  }

 private:
  Indexed<NodeId, LinkId>* reached_by_;
};

}  // namespace

Cluster::Graph::Graph(int devices, int axes) : neighbours(devices, axes) {}

NodeId Cluster::Graph::add_node(NodeKind kind, std::string name) {
  nodes.push_back({kind, std::move(name)});
  return nodes.count() - 1;
}

LinkId Cluster::Graph::add_link(const Link& link) {
  const LinkId id = links.next_id();
  links.push_back(link);
  if (link.axis >= 0) neighbours(link.from, link.axis).towards(link.direction) = id;
  return id;
}

std::vector<LinkId> Cluster::route_nodes(NodeId from, NodeId to) const {
  const Connections connections = connections_of(*graph_);
  Indexed<NodeId, LinkId> reached_by(nodes(), -1);
  boost::breadth_first_search(connections, position_of(from), boost::visitor(FirstLinks(reached_by)));
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
