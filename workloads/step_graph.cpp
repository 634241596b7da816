#include "workloads/step_graph.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>

#include "sim/core/errors.hpp"

namespace lockstep {

struct StepGraph::Graph {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, StepOp> dag;
};

StepGraph::StepGraph() : graph_(std::make_unique<Graph>()) {}
StepGraph::StepGraph(StepGraph&&) noexcept = default;
StepGraph& StepGraph::operator=(StepGraph&&) noexcept = default;
StepGraph::~StepGraph() = default;

OpId StepGraph::add(StepOp op) { return static_cast<OpId>(boost::add_vertex(std::move(op), graph_->dag)); }

void StepGraph::depend(OpId after, OpId before) {
  if (before >= after || before < 0) throw InternalError("step graph: a dependency must point to an earlier operation");
  const auto from = static_cast<std::size_t>(before);
  const auto to = static_cast<std::size_t>(after);
  // Few operations have many predecessors, and those list each once; a look at the short list is cheaper than a set.
  const auto [begin, end] = boost::in_edges(to, graph_->dag);
  if (std::any_of(begin, end, [&](const auto& edge) { return boost::source(edge, graph_->dag) == from; })) return;
  boost::add_edge(from, to, graph_->dag);
}

std::int32_t StepGraph::size() const { return static_cast<std::int32_t>(boost::num_vertices(graph_->dag)); }
const StepOp& StepGraph::op(OpId id) const { return graph_->dag[static_cast<std::size_t>(id)]; }
std::int64_t StepGraph::dependencies() const { return static_cast<std::int64_t>(boost::num_edges(graph_->dag)); }

std::vector<OpId> StepGraph::predecessors(OpId id) const {
  std::vector<OpId> result;
  const auto [begin, end] = boost::in_edges(static_cast<std::size_t>(id), graph_->dag);
  for (auto edge = begin; edge != end; ++edge) result.push_back(static_cast<OpId>(boost::source(*edge, graph_->dag)));
  return result;
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
  std::string text = "step graph: " + std::to_string(size()) + " operations, " + std::to_string(dependencies()) + " dependencies, " +
                     std::to_string(parameters) + " parameters\n";
  for (OpId id = 0; id < size(); ++id) {
    const auto& vertex = op(id);
    text += "  " + std::to_string(id) + " m" + std::to_string(vertex.microbatch) + " " + block_names[static_cast<std::size_t>(vertex.block)] +
            " " + std::string(name(vertex.pass)) + ": " + vertex.name;
    if (vertex.kind == StepOp::Kind::collective) text += " (" + std::to_string(vertex.full_size.value()) + " B)";
    text += "  <-";
    for (const auto before : predecessors(id)) text += " " + std::to_string(before);
    text += "\n";
  }
  return text;
}

}  // namespace lockstep
