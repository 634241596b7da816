#include "sim/program/repeated_steps.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace lockstep::program {
namespace {

/// A rank waits only for operations in which it takes part, so operations follow each other on the stages that they
/// share.
class FindBorders {
 public:
  explicit FindBorders(const Program& step) : step_(step), stages_of_communicator_(step.communicators.size()) {
    for (const auto id : step.communicators.ids()) {
      auto& stages = stages_of_communicator_[id];
      for (const auto& group : step.communicators[id].groups) {
        for (const auto rank : group.members) stages.push_back(step.stage_of_rank[rank]);
      }
      std::sort(stages.begin(), stages.end());
      stages.erase(std::unique(stages.begin(), stages.end()), stages.end());
    }
  }

  [[nodiscard]] StepBorders run() const {
    StepBorders borders;
    std::vector<Stages> unfollowed;
    for (const auto& op : step_.ops) {
      const auto mine = stages_of(op);
      auto waiting = mine;
      for (const auto before : op.predecessors) {
        remove(waiting, stages_of(step_.ops[before]));
        remove(unfollowed[position_of(before)], mine);
      }
      borders.first.push_back(!waiting.empty());
      unfollowed.push_back(mine);
    }
    for (const auto op : step_.ops.ids()) {
      if (!unfollowed[position_of(op)].empty()) borders.last.push_back(op);
    }
    return borders;
  }

 private:
  using Stages = std::vector<workloads::StageId>;

  static void remove(Stages& from, const Stages& what) {
    std::erase_if(from, [&](auto stage) { return std::binary_search(what.begin(), what.end(), stage); });
  }
  [[nodiscard]] Stages stages_of(const ProgramOp& op) const {
    return op.kind == ProgramOp::Kind::compute ? Stages{op.stage} : stages_of_communicator_[op.communicator];
  }

  const Program& step_;
  Indexed<CommunicatorId, Stages> stages_of_communicator_;
};

/// Kinds of chips before those of the step have no ranks that run it.
std::vector<OnChip> on_later_chips(const ProgramOp& op, topologies::ChipKindId first, Seconds launch) {
  std::vector<OnChip> times(position_of(first), OnChip{Seconds(0), Seconds(0)});
  for (auto on : op.on_chips) {
    if (on.launched > Seconds(0)) on.launched += launch;
    times.push_back(on);
  }
  return times;
}

}  // namespace

StepBorders borders_of(const Program& step) { return FindBorders(step).run(); }

void append_step(Program& all, const Program& step, const StepBorders& borders, ProgramOpId before, Seconds launch,
                 const StepOffsets& offsets) {
  const auto first = all.ops.next_id();
  std::set<workloads::StageId> waiting;  // their hosts launch from when they waited last, be it in the step before
  for (const auto& op : step.ops) {
    if (op.kind == ProgramOp::Kind::compute && op.host_waits) waiting.insert(op.stage);
  }
  for (const auto id : step.ops.ids()) {
    auto op = step.ops[id];
    for (auto& predecessor : op.predecessors) predecessor += first;
    if (before >= 0 && borders.first[id]) op.predecessors.push_back(before);
    if (op.kind == ProgramOp::Kind::compute) {
      const Seconds since = waiting.contains(op.stage) ? Seconds(0) : launch;
      op.stage += offsets.stage;
      if (op.launched > Seconds(0)) op.launched += since;
      if (!op.on_chips.empty()) op.on_chips = on_later_chips(op, offsets.chip, since);
    } else {
      op.communicator += offsets.communicator;
    }
    all.ops.push_back(std::move(op));
  }
}

collectives::Communicator all_ranks(topologies::RankId first, std::int32_t count) {
  collectives::ProgramGroup everyone;
  everyone.members.resize(position_of(count));
  std::iota(everyone.members.begin(), everyone.members.end(), first);
  collectives::Communicator communicator;
  communicator.name = "all ranks of a job";
  communicator.groups.push_back(std::move(everyone));
  return communicator;
}

ProgramOpId append_barrier(Program& all, CommunicatorId everyone, Seconds time, Predecessors after) {
  ProgramOp op;
  op.kind = ProgramOp::Kind::collective;
  op.streams = {0};
  op.communicator = everyone;
  op.predecessors = std::move(after);
  op.closed_form = time;
  if (time > Seconds(0)) op.phases = {collectives::Phase{time, {}}};
  all.ops.push_back(std::move(op));
  return all.ops.next_id() - 1;
}

Predecessors ends_of(const StepBorders& borders, ProgramOpId first) {
  Predecessors ends;
  for (const auto op : borders.last) ends.push_back(first + op);
  return ends;
}

}  // namespace lockstep::program
