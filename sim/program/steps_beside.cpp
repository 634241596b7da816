#include "sim/program/steps_beside.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/core/errors.hpp"
#include "sim/program/repeated_steps.hpp"

namespace lockstep::program {
namespace {

class Beside {
 public:
  Beside(const Program& step, const Program& outer) : step_(step), outer_(outer) {
    auto& all = made_.program;
    all.streams = step.streams;
    all.stage_of_rank = step.stage_of_rank;
    all.slowdown_of_rank = step.slowdown_of_rank;
    all.chip_of_rank = step.chip_of_rank;
    all.shared_slowdown = step.shared_slowdown;
    all.dispatch_slowdown = step.dispatch_slowdown;
    all.links = step.links;
    all.communicators = step.communicators;
    first_communicator_ = all.communicators.next_id();
    for (const auto& communicator : outer.communicators) all.communicators.push_back(communicator);
    everyone_ = all.communicators.next_id();
    all.communicators.push_back(all_ranks(0, step.ranks()));
    for (const auto& name : outer.streams) streams_.push_back(stream(name));
  }

  StepsBeside run(std::int32_t times, Seconds alone, ProgramOpId first_after) {
    add_outer(0, first_after, -1);
    const auto borders = borders_of(step_);
    ProgramOpId before = -1;
    for (std::int32_t n = 0; n < times; ++n) {
      const auto first = made_.program.ops.next_id();
      append_step(made_.program, step_, borders, before, alone * n);
      before = append_barrier(made_.program, everyone_, Seconds(0), ends_of(borders, first));
    }
    made_.last_end = before;
    add_outer(first_after, outer_.ops.next_id(), before);
    check(made_.program);
    return std::move(made_);
  }

 private:
  StreamId stream(const std::string& name) {
    auto& streams = made_.program.streams;
    const auto known = std::find(streams.begin(), streams.end(), name);
    if (known != streams.end()) return static_cast<StreamId>(known - streams.begin());
    streams.push_back(name);
    return streams.next_id() - 1;
  }

  /// Operations of the outer step; `before`: one that they also wait for, -1: none.
  void add_outer(ProgramOpId begin, ProgramOpId end, ProgramOpId before) {
    for (auto id = begin; id < end; ++id) {
      auto op = outer_.ops[id];
      for (auto& predecessor : op.predecessors) predecessor = made_.outer[predecessor];
      if (before >= 0) op.predecessors.push_back(before);
      std::vector<StreamId> own;
      for (const auto one : op.streams) own.push_back(streams_[one]);
      op.streams = std::move(own);
      if (op.kind == ProgramOp::Kind::collective) op.communicator += first_communicator_;
      made_.outer.push_back(made_.program.ops.next_id());
      made_.program.ops.push_back(std::move(op));
    }
  }

  const Program& step_;
  const Program& outer_;
  StepsBeside made_;
  CommunicatorId first_communicator_ = 0, everyone_ = 0;
  Indexed<StreamId, StreamId> streams_;  ///< of the outer step, by their own numbers
};

}  // namespace

StepsBeside steps_beside(const Program& step, std::int32_t times, Seconds alone, const Program& outer,
                         ProgramOpId first_after) {
  const auto room = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  if (times < 1 || step.ranks() != outer.ranks() || step.links.size() != outer.links.size())
    throw InternalError("steps_beside: no step, or programs of different ranks or links");
  if ((step.ops.size() + 1) * position_of(times) + outer.ops.size() > room)
    throw InternalError("steps_beside: more operations than can be numbered");
  return Beside(step, outer).run(times, alone, first_after);
}

}  // namespace lockstep::program
