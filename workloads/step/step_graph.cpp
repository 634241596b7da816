#include "workloads/step/step_graph.hpp"

#include <algorithm>
#include <boost/graph/vector_as_graph.hpp>

#include "sim/core/errors.hpp"

namespace lockstep::workloads {

/// What each operation waits for, as Boost.Graph's vector_as_graph: its adjacency_list allocates memory for every edge.
struct StepGraph::Graph {
  std::vector<StepOp> ops;
  std::vector<Readers> dag;  ///< an edge leads to what is waited for
  std::int64_t edges = 0;
};

StepGraph::StepGraph() : graph_(std::make_unique<Graph>()) {}
StepGraph::StepGraph(StepGraph&&) noexcept = default;
StepGraph& StepGraph::operator=(StepGraph&&) noexcept = default;
StepGraph::~StepGraph() = default;

void StepGraph::expect(std::size_t operations) {
  graph_->ops.reserve(operations);
  graph_->dag.reserve(operations);
}

const StepWork* StepGraph::share(StepWork work) { return &works_.emplace_back(std::move(work)); }

OpId StepGraph::add(const StepOp& op) {
  graph_->ops.push_back(op);
  graph_->dag.emplace_back();
  return size() - 1;
}

OpId StepGraph::add(const StepOp& op, std::span<const OpId> after) {
  const auto id = add(op);
  graph_->dag.back().reserve(after.size());
  for (const auto before : after) depend(id, before);
  return id;
}

void StepGraph::depend(OpId after, OpId before) {
  if (before >= after || before < 0) throw InternalError("step graph: a dependency must point to an earlier operation");
  // Few operations have many predecessors, and those list each once; a look at the short list is cheaper than a set.
  auto& earlier = graph_->dag[position_of(after)];
  if (std::find(earlier.begin(), earlier.end(), before) != earlier.end()) return;
  earlier.push_back(before);
  ++graph_->edges;
}

std::int32_t StepGraph::size() const { return static_cast<std::int32_t>(boost::num_vertices(graph_->dag)); }
const StepOp& StepGraph::op(OpId id) const { return graph_->ops[position_of(id)]; }
std::int64_t StepGraph::dependencies() const { return graph_->edges; }

std::span<const OpId> StepGraph::waits_for(OpId id) const { return graph_->dag[position_of(id)]; }

std::vector<OpId> StepGraph::predecessors(OpId id) const {
  std::vector<OpId> result;
  for_each_predecessor(id, [&](OpId before) { result.push_back(before); });
  return result;
}

void StepGraph::for_each_predecessor(OpId id, const std::function<void(OpId)>& visit) const {
  const auto [begin, end] = boost::adjacent_vertices(id, graph_->dag);
  for (auto before = begin; before != end; ++before) visit(*before);
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
