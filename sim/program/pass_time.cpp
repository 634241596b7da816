#include "sim/program/pass_time.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "sim/program/kernel_time.hpp"

namespace lockstep {
namespace {

struct Pass {
  Seconds computing{0};
  Seconds beside{0};
  int launches = 0;
};

bool is_kernel(const ProgramOp& op, const StepOp& vertex) {
  return op.kind == ProgramOp::Kind::compute && !vertex->given_time && op.duration > Seconds(0);
}

bool waits_for(const ProgramOp& later, std::int32_t earlier) {
  return std::find(later.predecessors.begin(), later.predecessors.end(), earlier) != later.predecessors.end();
}

/// Whether activations travel beside a kernel: it starts when they do, after the same operation, and does not wait for them.
/// So do the product that a collective belongs to (collective matmul), and shared experts while slots travel.
class BesideKernels {
 public:
  BesideKernels(const Program& program, const StepGraph& step) : program_(program), kernels_after_(program.ops.size()) {
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const auto& op = program.ops[i];
      if (!is_kernel(op, step.op(op.vertex))) continue;
      for (const auto earlier : op.predecessors) kernels_after_[static_cast<std::size_t>(earlier)].push_back(i);
    }
  }

  [[nodiscard]] bool contains(std::size_t collective) const {
    const auto& starts = program_.ops[collective].predecessors;
    return std::any_of(starts.begin(), starts.end(), [&](auto earlier) {
      const auto& kernels = kernels_after_[static_cast<std::size_t>(earlier)];
      return std::any_of(kernels.begin(), kernels.end(), [&](auto kernel) { return !waits_for(program_.ops[kernel], static_cast<std::int32_t>(collective)); });
    });
  }

 private:
  const Program& program_;
  std::vector<std::vector<std::size_t>> kernels_after_;  ///< by predecessor
};

}  // namespace

double overlap_slowdown(const ChipKernels& chip) {
  const double units = chip.units > 0 ? static_cast<double>(chip.units) / (chip.units - chip.communication_units) : 1;
  return std::max(units, 1 / (1 - chip.communication_memory));
}

void stretch_passes(Program& program, const StepGraph& step, const ChipKernels& chip) {
  const double slowdown = overlap_slowdown(chip);
  std::map<std::tuple<std::int32_t, StepPass, std::int32_t>, Pass> passes;  // by stage, pass and microbatch
  const auto pass_of = [&](const StepOp& vertex) -> Pass& { return passes[{vertex.stage, vertex.pass, vertex.microbatch}]; };
  const BesideKernels beside_kernels(program, step);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const auto& op = program.ops[i];
    const auto& vertex = step.op(op.vertex);
    if (is_kernel(op, vertex)) {
      pass_of(vertex).computing += op.duration;
      pass_of(vertex).launches += launches(chip, kernel_of(*vertex.what));
    } else if (op.kind == ProgramOp::Kind::collective && !vertex->given_time && (vertex->role != CollectiveRole::activation || beside_kernels.contains(i))) {
      pass_of(vertex).beside += op.closed_form;
    }
  }
  for (auto& op : program.ops) {
    const auto& vertex = step.op(op.vertex);
    if (!is_kernel(op, vertex)) continue;
    const auto& pass = pass_of(vertex);
    const double beside_collectives = std::min(slowdown, 1 + pass.beside / pass.computing * (1 - 1 / slowdown));
    op.duration = op.duration * std::max(beside_collectives, chip.host * pass.launches / pass.computing);
  }
}

}  // namespace lockstep
