#include "sim/program/lower.hpp"

#include <algorithm>
#include <map>

#include "sim/collectives/communicator.hpp"

namespace lockstep {
namespace {

std::int32_t priority(const StepOp& op) {
  if (op.kind == StepOp::Kind::compute) return 0;
  switch (op.role) {
    case CollectiveRole::activation: return 0;
    case CollectiveRole::weight: return 1;
    case CollectiveRole::gradient: return 2;
  }
  return 0;
}

/// Communicators by mesh axes in mesh order, made at first use.
class Communicators {
 public:
  Communicators(const Mesh& mesh, Program& program) : mesh_(mesh), program_(program) {}

  std::int32_t index(const AxisNames& axes) {
    const auto [found, is_new] = known_.try_emplace(axes, static_cast<std::int32_t>(program_.communicators.size()));
    if (is_new) {
      program_.communicators.push_back(make_communicator(mesh_, axes));
      dimensions_.push_back(mesh_.dimensions(axes));
    }
    return found->second;
  }
  [[nodiscard]] const Dimensions& dimensions(std::int32_t index) const { return dimensions_[static_cast<std::size_t>(index)]; }

 private:
  const Mesh& mesh_;
  Program& program_;
  std::map<AxisNames, std::int32_t> known_;
  std::vector<Dimensions> dimensions_;
};

}  // namespace

Program lower(const StepGraph& step, const Cluster& cluster, const Mesh& mesh, const ComputeRates& rates) {
  Program program;
  program.streams.push_back("compute");
  for (const auto& axis : mesh.axes()) program.streams.push_back(axis.name);
  const auto ranks = static_cast<std::size_t>(mesh.ranks());
  program.stage_of_rank.assign(ranks, 0);
  program.slowdown_of_rank.assign(ranks, 1.0);
  program.links.reserve(static_cast<std::size_t>(cluster.links()));
  for (LinkId link = 0; link < cluster.links(); ++link) program.links.push_back(cluster.link(link).bandwidth);

  Communicators communicators(mesh, program);
  program.ops.reserve(static_cast<std::size_t>(step.size()));
  for (OpId id = 0; id < step.size(); ++id) {
    const auto& vertex = step.op(id);
    ProgramOp op;
    op.vertex = id;
    op.stage = vertex.stage;
    op.priority = priority(vertex);
    op.predecessors = step.predecessors(id);
    if (vertex.kind == StepOp::Kind::compute) {
      op.kind = ProgramOp::Kind::compute;
      op.streams = {0};
      op.duration = compute_time(rates, vertex.flops, vertex.traffic);
    } else {
      op.kind = ProgramOp::Kind::collective;
      AxisNames in_mesh_order;
      for (std::size_t i = 0; i < mesh.axes().size(); ++i) {
        const auto& name = mesh.axes()[i].name;
        if (std::find(vertex.axes.begin(), vertex.axes.end(), name) == vertex.axes.end()) continue;
        in_mesh_order.push_back(name);
        op.streams.push_back(static_cast<std::int32_t>(i) + 1);
      }
      op.communicator = communicators.index(in_mesh_order);
      const auto& dimensions = communicators.dimensions(op.communicator);
      op.phases = plan(vertex.collective, dimensions, vertex.full_size);
      op.closed_form = cost(vertex.collective, dimensions, vertex.full_size);
    }
    program.ops.push_back(std::move(op));
  }
  return program;
}

}  // namespace lockstep
