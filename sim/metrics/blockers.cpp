#include "sim/metrics/blockers.hpp"

#include <algorithm>
#include <utility>

#include "sim/metrics/sort_runs.hpp"

namespace lockstep::metrics {
Blocker Blockers::of(std::int32_t op, std::int32_t rank) {
  const auto start = timeline_.simulated(op, rank).start;
  Seconds end(-1);
  const auto needed = last_predecessor(op, rank, end);
  if (start > end && start > Seconds(0)) {
    if (const auto taken = on_streams(op, rank, start); taken.op >= 0) return taken;
  }
  return needed;
}

template <class Look>
void Blockers::for_each_starter(std::int32_t op, std::int32_t rank, Look look) {
  look(rank);
  const auto& started = program_.ops[op];
  if (started.kind == program::ProgramOp::Kind::compute) return;
  for (const auto member : group_of(started.communicator, rank).members) {
    if (member != rank) look(member);
  }
}

Blocker Blockers::last_predecessor(std::int32_t op, std::int32_t rank, Seconds& end) {
  Blocker last;
  for_each_starter(op, rank, [&](std::int32_t member) {
    for (const auto before : program_.ops[op].predecessors) {
      if (!timeline_.took_part(before, member)) continue;
      // If the operation ran at the same time on all ranks, the other members of a large group add nothing.
      if (member != rank && timeline_.uniform(before) && timeline_.took_part(before, rank)) continue;
      const auto ended = timeline_.simulated(before, member).end;
      if (ended > end) {
        end = ended;
        last = {Blocker::Why::needs, before, member};
      }
    }
  });
  return last;
}

/// Operations that take no time cannot be what held a stream until then; leaving them out makes every step back in
/// time through a stream a real one.
Blocker Blockers::on_streams(std::int32_t op, std::int32_t rank, Seconds until) {
  Blocker found;
  for_each_starter(op, rank, [&](std::int32_t member) {
    if (found.op >= 0) return;
    for (const auto stream : program_.ops[op].streams) {
      const auto& ends = ends_on(member)[stream];
      const auto holder = std::lower_bound(ends.begin(), ends.end(), std::pair{until, std::int32_t{0}});
      if (holder != ends.end() && holder->first == until) {
        found = {Blocker::Why::stream, holder->second, member};
        return;
      }
    }
  });
  return found;
}

const collectives::ProgramGroup& Blockers::group_of(std::int32_t communicator, std::int32_t rank) {
  auto& groups = group_of_rank_[communicator];
  const auto& all = program_.communicators[communicator].groups;
  if (groups.empty()) {
    groups.assign(program_.stage_of_rank.size(), 0);
    for (std::size_t group = 0; group < all.size(); ++group) {
      for (const auto member : all[group].members) groups[member] = static_cast<std::int32_t>(group);
    }
  }
  return all[groups[rank]];
}

const Blockers::EndsOfStreams& Blockers::ends_on(std::int32_t rank) {
  const auto [known, is_new] = ends_.try_emplace(rank, program_.streams.size());
  auto& ends = known->second;
  if (!is_new) return ends;
  timeline_.for_each_op_of(rank, [&](std::int32_t op) {
    const auto span = timeline_.simulated(op, rank);
    if (span.end <= span.start) return;
    for (const auto stream : program_.ops[op].streams) ends[stream].emplace_back(span.end, op);
  });
  for (auto& lane : ends) sort_runs(lane);
  return ends;
}

}  // namespace lockstep::metrics
