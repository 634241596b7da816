#include "topologies/cluster/flow_network.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <vector>

#include "sim/core/indexed.hpp"

namespace lockstep::topologies {
namespace {

using Descriptors = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;

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

}  // namespace

struct FlowNetwork::Graph {
  explicit Graph(int nodes) : flows(position_of(nodes)) {}
  FlowGraph flows;
  std::vector<Descriptors::edge_descriptor> arcs;
  std::size_t source = 0;
  std::vector<bool> on_source_side;  ///< empty: not looked for since the last flow

  /// Nodes that the source still reaches. The search's own colours leave some of them out.
  void find_source_side() {
    on_source_side.assign(boost::num_vertices(flows), false);
    on_source_side[source] = true;
    std::vector<std::size_t> reached{source};
    while (!reached.empty()) {
      const auto node = reached.back();
      reached.pop_back();
      for (auto [arc, end] = boost::out_edges(node, flows); arc != end; ++arc) {
        const auto next = boost::target(*arc, flows);
        if (on_source_side[next] || flows[*arc].residual == 0) continue;
        on_source_side[next] = true;
        reached.push_back(next);
      }
    }
  }
};

FlowNetwork::FlowNetwork(int nodes) : graph_(std::make_unique<Graph>(nodes)) {}
FlowNetwork::FlowNetwork(FlowNetwork&&) noexcept = default;
FlowNetwork& FlowNetwork::operator=(FlowNetwork&&) noexcept = default;
FlowNetwork::~FlowNetwork() = default;

FlowNetwork::ArcId FlowNetwork::add_arc(int from, int to, std::int64_t capacity, std::int64_t back) {
  auto& flows = graph_->flows;
  const auto arc = boost::add_edge(position_of(from), position_of(to), Arc{capacity, 0, {}}, flows).first;
  const auto reverse = boost::add_edge(position_of(to), position_of(from), Arc{back, 0, {}}, flows).first;
  flows[arc].reverse = reverse;
  flows[reverse].reverse = arc;
  graph_->arcs.push_back(arc);
  return static_cast<ArcId>(graph_->arcs.size()) - 1;
}

void FlowNetwork::set_capacity(ArcId arc, std::int64_t capacity) {
  graph_->flows[graph_->arcs[position_of(arc)]].capacity = capacity;
}

std::int64_t FlowNetwork::capacity(ArcId arc) const { return graph_->flows[graph_->arcs[position_of(arc)]].capacity; }

std::int64_t FlowNetwork::max_flow(int source, int sink) {
  auto& flows = graph_->flows;
  graph_->source = position_of(source);
  graph_->on_source_side.clear();
  return boost::boykov_kolmogorov_max_flow(
      flows, boost::get(&Arc::capacity, flows), boost::get(&Arc::residual, flows), boost::get(&Arc::reverse, flows),
      boost::get(&Place::predecessor, flows), boost::get(&Place::colour, flows), boost::get(&Place::distance, flows),
      boost::get(boost::vertex_index, flows), position_of(source), position_of(sink));
}

std::int64_t FlowNetwork::flow(ArcId arc) const {
  const auto& place = graph_->flows[graph_->arcs[position_of(arc)]];
  return place.capacity - place.residual;
}

bool FlowNetwork::on_source_side(int node) const {
  if (graph_->on_source_side.empty()) graph_->find_source_side();
  return graph_->on_source_side[position_of(node)];
}

}  // namespace lockstep::topologies
