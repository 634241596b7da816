#include "workloads/step/step_graph.hpp"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <boost/graph/adjacency_list.hpp>

#include "sim/core/errors.hpp"

namespace lockstep::workloads {

/// The edges of a vertex: the first few need no memory of their own.
template <class Edge>
struct FewEdges : boost::container::small_vector<Edge, 3> {
  using boost::container::small_vector<Edge, 3>::small_vector;
};
struct FewEdgesS {};  ///< selects them for Boost.Graph, which asks what kind of container they are

template <class Edge>
boost::graph_detail::vector_tag container_category(const FewEdges<Edge>&) {
  return {};
}
template <class Edge>
boost::graph_detail::unstable_tag iterator_stability(const FewEdges<Edge>&) {
  return {};
}

}  // namespace lockstep::workloads

template <class Edge>
struct boost::container_gen<lockstep::workloads::FewEdgesS, Edge> {
  using type = lockstep::workloads::FewEdges<Edge>;
};
template <>
struct boost::parallel_edge_traits<lockstep::workloads::FewEdgesS> {
  using type = boost::allow_parallel_edge_tag;
};

namespace lockstep::workloads {

struct StepGraph::Graph {
  boost::adjacency_list<FewEdgesS, boost::vecS, boost::directedS, StepOp> dag;  // an edge leads to what is waited for
};

StepGraph::StepGraph() : graph_(std::make_unique<Graph>()) {}
StepGraph::StepGraph(StepGraph&&) noexcept = default;
StepGraph& StepGraph::operator=(StepGraph&&) noexcept = default;
StepGraph::~StepGraph() = default;

void StepGraph::expect(std::size_t operations) { graph_->dag.m_vertices.reserve(operations); }
const StepWork* StepGraph::share(StepWork work) { return &works_.emplace_back(std::move(work)); }
OpId StepGraph::add(const StepOp& op) { return static_cast<OpId>(boost::add_vertex(op, graph_->dag)); }

OpId StepGraph::add(const StepOp& op, std::span<const OpId> after) {
  const auto id = add(op);
  graph_->dag.out_edge_list(position_of(id)).reserve(after.size());
  for (const auto before : after) depend(id, before);
  return id;
}

void StepGraph::depend(OpId after, OpId before) {
  if (before >= after || before < 0) throw InternalError("step graph: a dependency must point to an earlier operation");
  const auto from = position_of(before);
  const auto to = position_of(after);
  // Few operations have many predecessors, and those list each once; a look at the short list is cheaper than a set.
  const auto [begin, end] = boost::adjacent_vertices(to, graph_->dag);
  if (std::find(begin, end, from) != end) return;
  boost::add_edge(to, from, graph_->dag);
}

std::int32_t StepGraph::size() const { return static_cast<std::int32_t>(boost::num_vertices(graph_->dag)); }
const StepOp& StepGraph::op(OpId id) const { return graph_->dag[position_of(id)]; }
std::int64_t StepGraph::dependencies() const { return static_cast<std::int64_t>(boost::num_edges(graph_->dag)); }

std::vector<OpId> StepGraph::predecessors(OpId id) const {
  std::vector<OpId> result;
  for_each_predecessor(id, [&](OpId before) { result.push_back(before); });
  return result;
}

void StepGraph::for_each_predecessor(OpId id, const std::function<void(OpId)>& visit) const {
  const auto [begin, end] = boost::adjacent_vertices(position_of(id), graph_->dag);
  for (auto before = begin; before != end; ++before) visit(static_cast<OpId>(*before));
}

std::string_view name(StepPass pass) {
  switch (pass) {
    case StepPass::forward: return "forward";
    case StepPass::backward: return "backward";
    case StepPass::update: return "update";
  }
  return "";
}

std::string StepGraph::to_string() const {
  std::string text = "step graph: " + std::to_string(size()) + " operations, " + std::to_string(dependencies()) +
                     " dependencies, " + std::to_string(parameters) + " parameters\n";
  for (OpId id = 0; id < size(); ++id) {
    const auto& vertex = op(id);
    text += "  " + std::to_string(id) + " m" + std::to_string(vertex.microbatch) + " " + block_names[vertex.block] +
            " " + std::string(name(vertex.pass)) + ": " + vertex->name;
    if (vertex->kind == StepOp::Kind::collective) text += " (" + std::to_string(vertex->full_size.value()) + " B)";
    text += "  <-";
    for (const auto before : predecessors(id)) text += " " + std::to_string(before);
    text += "\n";
  }
  return text;
}

}  // namespace lockstep::workloads
