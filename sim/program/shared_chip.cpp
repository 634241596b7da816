#include "sim/program/shared_chip.hpp"

#include <algorithm>
#include <map>

#include "sim/cost/kernel_time.hpp"
#include "sim/cost/layer_time.hpp"

namespace lockstep::program {
namespace {

/// Finds the first kernel of each cell of a pipeline whose hosts wait for transfers; kernels come in program order.
class FirstKernels {
 public:
  explicit FirstKernels(const workloads::StepGraph& step) : step_(step) {}

  [[nodiscard]] bool of_cell(const ProgramOp& kernel) {
    if (!step_.host_waits_for_transfers) return false;
    bool new_cell = false;
    for (; next_ < step_.cells.size() && step_.cells[next_].first <= kernel.vertex; ++next_) new_cell = true;
    if (kernel.vertex >= step_.first_update) return false;
    return new_cell;
  }

 private:
  const workloads::StepGraph& step_;
  std::size_t next_ = 0;  ///< the first cell that no kernel has been found of
};

}  // namespace

double dispatch_slowdown(const topologies::ChipKernels& chip, std::int32_t multiprocessors) {
  return cost::slowdown_without(chip, std::min(multiprocessors, chip.units - 1));
}

void share_chip(Program& program, const workloads::StepGraph& step, const topologies::ChipKernels& chip) {
  program.shared_slowdown = {cost::overlap_slowdown(chip)};
  program.dispatch_slowdown.clear();
  const auto held_by = [&](const ProgramOp& op) { return step.op(op.vertex)->copies.multiprocessors; };
  const auto dispatch = std::find_if(program.ops.begin(), program.ops.end(), [&](const auto& op) {
    return chip.units > 0 && held_by(op) >= 0;
  });  // all of a step hold the same number
  if (dispatch != program.ops.end()) program.dispatch_slowdown = {dispatch_slowdown(chip, held_by(*dispatch))};
  const bool interferes = program.shared_slowdown.front() > 1 || !program.dispatch_slowdown.empty();
  std::map<std::int32_t, int> launched;  // by stage: kernels so far, since the host waited
  FirstKernels first(step);
  for (auto& op : program.ops) {
    const auto& vertex = step.op(op.vertex);
    if (vertex->given_time) continue;  // whatever the chip does
    op.shares_chip = interferes;
    op.dispatches = !program.dispatch_slowdown.empty() && held_by(op) >= 0;
    if (op.kind != ProgramOp::Kind::compute || op.duration <= Seconds(0)) continue;
    op.host_waits = op.streams.front() == 0 && first.of_cell(op);
    if (op.host_waits) launched[op.stage] = 0;
    op.launched = chip.host * (launched[op.stage] += cost::launches(chip, kernel_of(*vertex.what)));
  }
}

}  // namespace lockstep::program
