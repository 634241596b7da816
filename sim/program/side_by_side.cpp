#include "sim/program/side_by_side.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/core/errors.hpp"
#include "sim/program/repeated_steps.hpp"

namespace lockstep::program {
namespace {

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
    const auto borders = borders_of(step);
    const CommunicatorId everyone = all.communicators.next_id() - 1;
    ProgramOpId before = job.start > Seconds(0) ? append_barrier(all, everyone, job.start, {}) : -1;
    for (std::int32_t n = 0; n < job.times; ++n) {
      const auto first = all.ops.next_id();
      append_step(all, step, borders, before, job.start + job.alone * n, offsets_);
      before = append_barrier(all, everyone, Seconds(0), ends_of(borders, first));
      ops.step_ends.push_back(before);
    }
    ops.end = all.ops.next_id();
    shared_.jobs.push_back(std::move(ops));
  }

  SharedProgram run() { return std::move(shared_); }

 private:
  void add_ranks(const Program& step) {
    auto& all = shared_.program;
    offsets_ = {next_stage_, all.communicators.next_id(), all.shared_slowdown.next_id()};
    if (step.streams.size() > all.streams.size()) all.streams = step.streams;  // ranks have lanes of their own
    for (const auto chip : step.shared_slowdown.ids()) {
      all.shared_slowdown.push_back(step.shared_slowdown[chip]);
      all.dispatch_slowdown.push_back(
          (step.dispatch_slowdown.empty() ? step.shared_slowdown : step.dispatch_slowdown)[chip]);
    }
    for (const auto rank : step.stage_of_rank.ids()) {
      all.stage_of_rank.push_back(offsets_.stage + step.stage_of_rank[rank]);
      all.slowdown_of_rank.push_back(step.slowdown_of_rank[rank]);
      all.chip_of_rank.push_back(offsets_.chip + step.chip_of(rank));
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
    shared_.program.communicators.push_back(all_ranks(first_rank, job.step->ranks()));
  }

  SharedProgram shared_;
  StepOffsets offsets_;  ///< of the job that is added
  workloads::StageId next_stage_ = 0;
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
