#include "tools/report/waits.hpp"

#include <algorithm>

namespace lockstep {
namespace {

constexpr std::int32_t most_ranks = 256;  // unfolded clusters: peers would cost memory of all ranks
constexpr double moment = 0.5e-9;         // closer than what the page can tell apart

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

Waits::Waits(const Program& program, const Timeline& timeline)
    : program_(program), timeline_(timeline), before_(at(program.ranks())), group_of_(program.communicators.size()) {}

const std::vector<std::int32_t>& Waits::before_on_lanes(std::int32_t rank) {
  auto& before = before_[at(rank)];
  if (!before.empty()) return before;
  before.assign(program_.ops.size(), -1);
  for (const auto& lane : lanes_of(program_, timeline_, rank)) {
    for (std::size_t i = 1; i < lane.size(); ++i) {
      auto& known = before[at(lane[i].op)];  // of several streams the one that was held longest
      if (known < 0 || timeline_.span(known, rank).end < timeline_.span(lane[i - 1].op, rank).end) known = lane[i - 1].op;
    }
  }
  return before;
}

const std::vector<std::int32_t>& Waits::peers(std::int32_t op, std::int32_t rank) {
  static const std::vector<std::int32_t> nobody;
  const auto id = program_.ops[at(op)].communicator;
  if (id < 0 || program_.ranks() > most_ranks) return nobody;
  const auto& groups = program_.communicators[at(id)].groups;
  auto& group_of = group_of_[at(id)];
  if (group_of.empty()) {
    group_of.assign(at(program_.ranks()), -1);
    for (std::size_t group = 0; group < groups.size(); ++group) {
      for (const auto member : groups[group].members) group_of[at(member)] = static_cast<std::int32_t>(group);
    }
  }
  const auto group = group_of[at(rank)];
  return group < 0 ? nobody : groups[at(group)].members;
}

void Waits::take(Wait::For what, std::int32_t op, std::int32_t rank) {
  if (op < 0 || !timeline_.took_part(op, rank)) return;
  const double end = timeline_.span(op, rank).end.value();
  if (end <= last_end_) return;  // of equals the first asked: its own rank before others
  last_end_ = end;
  last_ = {what, op, rank};
}

Wait Waits::of(std::int32_t op, std::int32_t rank) {
  last_ = {};
  last_end_ = -1;
  const auto& predecessors = program_.ops[at(op)].predecessors;
  for (const auto before : predecessors) take(Wait::For::predecessor, before, rank);
  take(Wait::For::lane, before_on_lanes(rank)[at(op)], rank);
  for (const auto peer : peers(op, rank)) {
    if (peer == rank) continue;
    for (const auto before : predecessors) take(Wait::For::peer, before, peer);
    take(Wait::For::peer, before_on_lanes(peer)[at(op)], peer);
  }
  if (last_end_ < timeline_.span(op, rank).start.value() - moment) return {};
  return last_;
}

}  // namespace lockstep
