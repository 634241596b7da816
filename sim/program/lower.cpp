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

/// The program while it is written; `whole` false: one rank, and groups without flows.
class Lowering {
 public:
  Lowering(const StepGraph& step, const Mesh& mesh, const ComputeRates& rates, bool whole)
      : step_(step), mesh_(mesh), rates_(rates), whole_(whole) {}

  Program run() {
    program_.streams.push_back("compute");
    for (const auto& axis : mesh_.axes()) program_.streams.push_back(axis.name);
    const auto ranks = whole_ ? static_cast<std::size_t>(mesh_.ranks()) : 1;
    program_.stage_of_rank.assign(ranks, 0);
    program_.slowdown_of_rank.assign(ranks, 1.0);
    program_.ops.reserve(static_cast<std::size_t>(step_.size()));
    for (OpId id = 0; id < step_.size(); ++id) program_.ops.push_back(lowered(id));
    return std::move(program_);
  }

 private:
  ProgramOp lowered(OpId id) {
    const auto& vertex = step_.op(id);
    ProgramOp op;
    op.vertex = id;
    op.stage = vertex.stage;
    op.priority = priority(vertex);
    op.predecessors = step_.predecessors(id);
    if (vertex.kind == StepOp::Kind::compute) {
      // A compute stream runs in program order, as kernels on a CUDA stream or a compiled TPU program do.
      if (last_compute_ >= 0 && std::find(op.predecessors.begin(), op.predecessors.end(), last_compute_) == op.predecessors.end()) {
        op.predecessors.push_back(last_compute_);
      }
      last_compute_ = id;
      op.kind = ProgramOp::Kind::compute;
      op.streams = {0};
      op.duration = compute_time(rates_, vertex.flops, vertex.traffic);
      return op;
    }
    op.kind = ProgramOp::Kind::collective;
    AxisNames in_mesh_order;
    for (std::size_t i = 0; i < mesh_.axes().size(); ++i) {
      const auto& name = mesh_.axes()[i].name;
      if (std::find(vertex.axes.begin(), vertex.axes.end(), name) == vertex.axes.end()) continue;
      in_mesh_order.push_back(name);
      op.streams.push_back(static_cast<std::int32_t>(i) + 1);
    }
    op.communicator = communicator(in_mesh_order);
    const auto& dimensions = dimensions_[static_cast<std::size_t>(op.communicator)];
    if (whole_) op.phases = plan(vertex.collective, dimensions, vertex.full_size);
    op.closed_form = cost(vertex.collective, dimensions, vertex.full_size);
    return op;
  }

  /// Communicators by mesh axes in mesh order, made at first use.
  std::int32_t communicator(const AxisNames& axes) {
    const auto [found, is_new] = known_.try_emplace(axes, static_cast<std::int32_t>(program_.communicators.size()));
    if (is_new) {
      program_.communicators.push_back(whole_ ? make_communicator(mesh_, axes) : Communicator{"alone", 0, {{{0}, {}}}});
      dimensions_.push_back(mesh_.dimensions(axes));
    }
    return found->second;
  }

  const StepGraph& step_;
  const Mesh& mesh_;
  const ComputeRates& rates_;
  bool whole_;
  Program program_;
  OpId last_compute_ = -1;
  std::map<AxisNames, std::int32_t> known_;
  std::vector<Dimensions> dimensions_;
};

}  // namespace

Program lower(const StepGraph& step, const Cluster& cluster, const Mesh& mesh, const ComputeRates& rates) {
  auto program = Lowering(step, mesh, rates, true).run();
  program.links.reserve(static_cast<std::size_t>(cluster.links()));
  for (LinkId link = 0; link < cluster.links(); ++link) program.links.push_back(cluster.link(link).bandwidth);
  return program;
}

Program lower_one_rank(const StepGraph& step, const Mesh& mesh, const ComputeRates& rates) {
  return Lowering(step, mesh, rates, false).run();
}

}  // namespace lockstep
