#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <map>
#include <utility>

#include "topologies/cluster/node_sets.hpp"

namespace lockstep::topologies {
namespace {

using Descriptors = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;

/// Capacities are whole bytes per second, so that flows add up without rounding.
struct Arc {
  std::int64_t capacity = 0, residual = 0;
  Descriptors::edge_descriptor reverse{};
};
struct Place {
  boost::default_color_type colour = boost::white_color;
  Descriptors::edge_descriptor predecessor{};
  std::int64_t distance = 0;
};
using FlowGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, Place, Arc>;

void add_arcs(FlowGraph& graph, std::size_t from, std::size_t to, std::int64_t there, std::int64_t back) {
  const auto arc = boost::add_edge(from, to, Arc{there, 0, {}}, graph).first;
  const auto reverse = boost::add_edge(to, from, Arc{back, 0, {}}, graph).first;
  graph[arc].reverse = reverse;
  graph[reverse].reverse = arc;
}

}  // namespace

NodeSets min_cut(const Cluster& cluster, const std::vector<DeviceId>& from, const std::vector<DeviceId>& to) {
  struct BothWays {
    std::int64_t there = 0, back = 0;
  };
  std::map<std::pair<NodeId, NodeId>, BothWays> joined;  // parallel links and ways back are one
  Indexed<NodeId, std::int64_t> at_node(cluster.nodes(), 1);
  for (LinkId id = 0; id < cluster.links(); ++id) {
    const Link& link = cluster.link(id);
    const auto capacity = static_cast<std::int64_t>(link.bandwidth.value());
    BothWays& both = joined[std::minmax(link.from, link.to)];
    (link.from < link.to ? both.there : both.back) += capacity;
    at_node[link.from] += capacity;
    at_node[link.to] += capacity;
  }
  FlowGraph graph(position_of(cluster.nodes()) + 2);
  const std::size_t source = position_of(cluster.nodes()), sink = source + 1;
  for (const auto& [ends, both] : joined)
    add_arcs(graph, position_of(ends.first), position_of(ends.second), both.there, both.back);
  for (const DeviceId device : from) add_arcs(graph, source, position_of(device), at_node[device], 0);
  for (const DeviceId device : to) add_arcs(graph, position_of(device), sink, at_node[device], 0);
  boost::boykov_kolmogorov_max_flow(graph, boost::get(&Arc::capacity, graph), boost::get(&Arc::residual, graph),
                                    boost::get(&Arc::reverse, graph), boost::get(&Place::predecessor, graph),
                                    boost::get(&Place::colour, graph), boost::get(&Place::distance, graph),
                                    boost::get(boost::vertex_index, graph), source, sink);
  NodeSets sets{Indexed<NodeId, NodeSetId>(cluster.nodes(), 1), 2, "min cut between the halves of the groups"};
  for (NodeId node = 0; node < cluster.nodes(); ++node) {
    if (graph[position_of(node)].colour == boost::black_color) sets.of_node[node] = 0;  // reached from the source
  }
  return sets;
}

}  // namespace lockstep::topologies
