#include "sim/program/pass_time.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/program/kernel_time.hpp"

namespace lockstep {
namespace {

struct Pass {
  Seconds computing{0};
  Seconds beside{0};
  int launches = 0;
};

bool is_kernel(const ProgramOp& op, const StepOp& vertex) {
  return op.kind == ProgramOp::Kind::compute && (!vertex->given_time || vertex->kernels > 0) && op.duration > Seconds(0);
}

}  // namespace

double overlap_slowdown(const ChipKernels& chip) {
  const double units = chip.units > 0 ? static_cast<double>(chip.units) / (chip.units - chip.communication_units) : 1;
  return std::max(units, 1 / (1 - chip.communication_memory));
}

void stretch_passes(Program& program, const StepGraph& step, const ChipKernels& chip) {
  const double slowdown = overlap_slowdown(chip);
  std::map<std::tuple<std::int32_t, StepPass, std::int32_t>, Pass> passes;  // by stage, pass and microbatch
  const auto pass_of = [&](const StepOp& vertex) -> Pass& { return passes[{vertex.stage, vertex.pass, vertex.microbatch}]; };
  for (const auto& op : program.ops) {
    const auto& vertex = step.op(op.vertex);
    if (is_kernel(op, vertex)) {
      pass_of(vertex).computing += op.duration;
      pass_of(vertex).launches += vertex->kernels > 0 ? vertex->kernels : launches(chip, kernel_of(*vertex.what));
    } else if (op.kind == ProgramOp::Kind::collective && !vertex->given_time && vertex->role != CollectiveRole::activation) {
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
