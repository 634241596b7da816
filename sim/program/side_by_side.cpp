#include "sim/program/side_by_side.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "sim/core/errors.hpp"

namespace lockstep::program {
namespace {

/// Operations with which a rank of some stage may begin or end.
struct Borders {
  std::vector<bool> first;
  std::vector<ProgramOpId> last;
};

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

  [[nodiscard]] Borders run() const {
    Borders borders;
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

class SideBySide {
 public:
  explicit SideBySide(Indexed<topologies::LinkId, BytesPerSecond> links) {
    shared_.program.links = std::move(links);
    shared_.program.shared_slowdown = {};
  }

  void add(const RepeatedStep& job) {
    const Program& step = *job.step;
    auto& all = shared_.program;
    const auto room = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
    if (job.times < 1 || job.shared.size() != step.links.size())
      throw InternalError("side_by_side: a job has no step, or links without a number");
    if (all.ops.size() + (step.ops.size() + 2) * position_of(job.times) > room ||
        all.stage_of_rank.size() + step.stage_of_rank.size() > room)
      throw InternalError("side_by_side: more operations or ranks than can be numbered");
    JobOps ops;
    ops.first_rank = all.stage_of_rank.next_id();
    ops.first = all.ops.next_id();
    add_ranks(step);
    add_communicators(job, ops.first_rank);
    const auto borders = FindBorders(step).run();
    ProgramOpId before = job.start > Seconds(0) ? add_barrier(job.start, {}) : -1;
    for (std::int32_t n = 0; n < job.times; ++n) {
      const auto first = all.ops.next_id();
      add_step(step, borders, before, job.start + job.alone * n);
      Predecessors ends;
      for (const auto op : borders.last) ends.push_back(first + op);
      before = add_barrier(Seconds(0), std::move(ends));
      ops.step_ends.push_back(before);
    }
    ops.end = all.ops.next_id();
    shared_.jobs.push_back(std::move(ops));
  }

  SharedProgram run() { return std::move(shared_); }

 private:
  void add_ranks(const Program& step) {
    auto& all = shared_.program;
    first_chip_ = all.shared_slowdown.next_id();
    first_stage_ = next_stage_;
    first_communicator_ = all.communicators.next_id();
    if (step.streams.size() > all.streams.size()) all.streams = step.streams;  // ranks have lanes of their own
    for (const auto chip : step.shared_slowdown.ids()) {
      all.shared_slowdown.push_back(step.shared_slowdown[chip]);
      all.dispatch_slowdown.push_back(
          (step.dispatch_slowdown.empty() ? step.shared_slowdown : step.dispatch_slowdown)[chip]);
    }
    for (const auto rank : step.stage_of_rank.ids()) {
      all.stage_of_rank.push_back(first_stage_ + step.stage_of_rank[rank]);
      all.slowdown_of_rank.push_back(step.slowdown_of_rank[rank]);
      all.chip_of_rank.push_back(first_chip_ + step.chip_of(rank));
      next_stage_ = std::max(next_stage_, all.stage_of_rank[all.stage_of_rank.next_id() - 1] + 1);
    }
  }

  /// The job's own, and one of all its ranks.
  void add_communicators(const RepeatedStep& job, topologies::RankId first_rank) {
    for (auto communicator : job.step->communicators) {
      for (auto& group : communicator.groups) {
        for (auto& member : group.members) member += first_rank;
        for (auto& flow : group.flows) {
          for (auto& link : flow.links) link = job.shared[link];
        }
      }
      shared_.program.communicators.push_back(std::move(communicator));
    }
    collectives::ProgramGroup everyone;
    everyone.members.resize(job.step->stage_of_rank.size());
    std::iota(everyone.members.begin(), everyone.members.end(), first_rank);
    collectives::Communicator all_ranks;
    all_ranks.name = "all ranks of a job";
    all_ranks.groups.push_back(std::move(everyone));
    shared_.program.communicators.push_back(std::move(all_ranks));
  }

  /// An operation of all the job's ranks, which takes no more than this time.
  ProgramOpId add_barrier(Seconds time, Predecessors after) {
    auto& all = shared_.program;
    ProgramOp op;
    op.kind = ProgramOp::Kind::collective;
    op.streams = compute_stream_;
    op.communicator = all.communicators.next_id() - 1;
    op.predecessors = std::move(after);
    op.closed_form = time;
    if (time > Seconds(0)) op.phases = {collectives::Phase{time, {}}};
    all.ops.push_back(std::move(op));
    return all.ops.next_id() - 1;
  }

  /// Once more the step, after operation `before` (-1: from the beginning), its kernels launched from `launch` on.
  void add_step(const Program& step, const Borders& borders, ProgramOpId before, Seconds launch) {
    auto& all = shared_.program;
    const auto first = all.ops.next_id();
    for (const auto id : step.ops.ids()) {
      auto op = step.ops[id];
      for (auto& predecessor : op.predecessors) predecessor += first;
      if (before >= 0 && borders.first[position_of(id)]) op.predecessors.push_back(before);
      if (op.kind == ProgramOp::Kind::compute) {
        op.stage += first_stage_;
        if (op.launched > Seconds(0)) op.launched += launch;
        if (!op.on_chips.empty()) op.on_chips = on_chips_of_all(op, launch);
      } else {
        op.communicator += first_communicator_;
      }
      all.ops.push_back(std::move(op));
    }
  }

  /// Kinds of chips of the jobs before have no ranks that run it.
  [[nodiscard]] std::vector<OnChip> on_chips_of_all(const ProgramOp& op, Seconds launch) const {
    std::vector<OnChip> times(position_of(first_chip_), OnChip{Seconds(0), Seconds(0)});
    for (auto on : op.on_chips) {
      if (on.launched > Seconds(0)) on.launched += launch;
      times.push_back(on);
    }
    return times;
  }

  SharedProgram shared_;
  SharedList<StreamId> compute_stream_{0};
  topologies::ChipKindId first_chip_ = 0;
  workloads::StageId first_stage_ = 0, next_stage_ = 0;
  CommunicatorId first_communicator_ = 0;
};

/// Operations have their time on every kind of chip, or on none.
void fill_up(Program& program) {
  for (auto& op : program.ops) {
    if (op.on_chips.empty() || op.on_chips.size() == program.shared_slowdown.size()) continue;
    auto times = op.on_chips.items();
    times.resize(program.shared_slowdown.size(), OnChip{Seconds(0), Seconds(0)});
    op.on_chips = std::move(times);
  }
}

}  // namespace

SharedProgram side_by_side(std::span<const RepeatedStep> jobs, Indexed<topologies::LinkId, BytesPerSecond> links) {
  SideBySide together(std::move(links));
  for (const auto& job : jobs) together.add(job);
  auto shared = together.run();
  fill_up(shared.program);
  check(shared.program);
  return shared;
}

}  // namespace lockstep::program
