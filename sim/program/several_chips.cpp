#include "sim/program/several_chips.hpp"

#include <algorithm>

#include "sim/cost/layer_time.hpp"
#include "sim/program/shared_chip.hpp"

namespace lockstep::program {
namespace {

/// Each compute operation as each kind of chip runs it, in the order of the program's operations.
using ComputeOnChips = Indexed<ProgramOpId, std::vector<OnChip>>;

/// What one kind of chip makes of the program, added to what the kinds before it made.
void add_kind(Program program, const workloads::StepGraph& step, const cost::ComputeRates& rates, ComputeOnChips& made,
              Program& whole) {
  for (ProgramOp& op : program.ops) {
    const auto& work = *step.op(op.vertex).what;
    if (op.kind == ProgramOp::Kind::compute && !work.given_time) op.duration = cost::operation_time(rates, work);
  }
  program.shared_slowdown = {1.0};
  program.dispatch_slowdown.clear();
  if (rates.kernels) share_chip(program, step, rates.kernels->chip);
  whole.shared_slowdown.push_back(program.shared_slowdown.front());
  const auto& dispatch = program.dispatch_slowdown;
  whole.dispatch_slowdown.push_back(dispatch.empty() ? program.shared_slowdown.front() : dispatch.front());
  for (const ProgramOpId id : program.ops.ids()) {
    const ProgramOp& op = program.ops[id];
    whole.ops[id].shares_chip = whole.ops[id].shares_chip || op.shares_chip;
    whole.ops[id].dispatches = whole.ops[id].dispatches || op.dispatches;
    whole.ops[id].host_waits = whole.ops[id].host_waits || op.host_waits;
    if (op.kind == ProgramOp::Kind::compute) made[id].push_back({op.duration, op.launched});
  }
}

}  // namespace

void put_on_chips(Program& program, const workloads::StepGraph& step, const topologies::Mesh& mesh,
                  const topologies::Cluster& cluster, const RatesOfChips& rates) {
  if (rates.count() == 1) return;
  for (topologies::RankId rank = 0; rank < program.ranks(); ++rank)
    program.chip_of_rank.push_back(cluster.chip_kind(mesh.device_of(rank)));
  set_times_on_chips(program, step, rates);
}

void set_times_on_chips(Program& program, const workloads::StepGraph& step, const RatesOfChips& rates) {
  const Program of_first = program;
  program.shared_slowdown.clear();
  program.dispatch_slowdown.clear();
  ComputeOnChips made(program.ops.size());
  for (const auto& of_kind : rates) add_kind(of_first, step, of_kind, made, program);
  std::vector<OnChip> last;
  SharedList<OnChip> shared;  // most operations that follow each other and are alike keep one list
  for (const ProgramOpId id : program.ops.ids()) {
    ProgramOp& op = program.ops[id];
    if (op.kind != ProgramOp::Kind::compute) continue;
    op.duration = op.launched = Seconds(0);
    for (const OnChip& on : made[id]) {
      op.duration = std::max(op.duration, on.duration);
      op.launched = std::max(op.launched, on.launched);
    }
    if (shared.empty() || last != made[id]) {
      last = made[id];
      shared = made[id];
    }
    op.on_chips = shared;
  }
}

}  // namespace lockstep::program
