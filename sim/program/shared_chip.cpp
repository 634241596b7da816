#include "sim/program/shared_chip.hpp"

#include <algorithm>
#include <map>

#include "sim/cost/kernel_time.hpp"

namespace lockstep::program {

double overlap_slowdown(const topologies::ChipKernels& chip) {
  const double units = chip.units > 0 ? static_cast<double>(chip.units) / (chip.units - chip.communication_units) : 1;
  return std::max(units, 1 / (1 - chip.communication_memory));
}

void share_chip(Program& program, const workloads::StepGraph& step, const topologies::ChipKernels& chip) {
  program.shared_slowdown = {overlap_slowdown(chip)};
  const bool interferes = program.shared_slowdown.front() > 1;
  std::map<std::int32_t, int> launched;  // by stage: kernels so far
  for (auto& op : program.ops) {
    const auto& vertex = step.op(op.vertex);
    if (vertex->given_time) continue;  // whatever the chip does
    op.shares_chip = interferes;
    if (op.kind != ProgramOp::Kind::compute || op.duration <= Seconds(0)) continue;
    op.launched = chip.host * (launched[op.stage] += cost::launches(chip, kernel_of(*vertex.what)));
  }
}

}  // namespace lockstep::program
