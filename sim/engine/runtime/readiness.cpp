#include "sim/engine/runtime/readiness.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "sim/core/indexed.hpp"

namespace lockstep::engine {

timeline::RankSets rank_sets_of(const program::Program& program) {
  std::vector<timeline::RankSets::Ranks> sets;
  std::map<std::int32_t, std::int32_t> of_stage, of_communicator;
  std::vector<std::int32_t> set_of_op;
  set_of_op.reserve(program.ops.size());
  for (const program::ProgramOp& op : program.ops) {
    const bool computes = op.kind == program::ProgramOp::Kind::compute;
    const auto [known, is_new] =
        (computes ? of_stage : of_communicator)
            .try_emplace(computes ? op.stage : op.communicator, static_cast<std::int32_t>(sets.size()));
    set_of_op.push_back(known->second);
    if (!is_new) continue;
    timeline::RankSets::Ranks& ranks = sets.emplace_back();
    if (computes) {
      for (std::int32_t rank = 0; rank < program.ranks(); ++rank) {
        if (program.stage_of_rank[rank] == op.stage) ranks.push_back(rank);
      }
    } else {
      for (const collectives::ProgramGroup& group : program.communicators[op.communicator].groups)
        ranks.insert(ranks.end(), group.members.begin(), group.members.end());
      std::sort(ranks.begin(), ranks.end());
    }
  }
  return {program.ranks(), std::move(sets), set_of_op};
}

Readiness::Readiness(const program::Program& program)
    : program_(program),
      sets_(std::make_shared<const timeline::RankSets>(rank_sets_of(program))),
      group_of_place_(program.communicators.size()) {
  for (std::size_t op = 0; op < program.ops.size(); ++op) {
    members_left_begin_.push_back(members_left_.size());
    if (program.ops[op].kind != program::ProgramOp::Kind::collective) continue;
    const collectives::Communicator& communicator = program.communicators[program.ops[op].communicator];
    for (const collectives::ProgramGroup& group : communicator.groups)
      members_left_.push_back(static_cast<std::int32_t>(group.members.size()));
    auto& group_of_place = group_of_place_[program.ops[op].communicator];
    if (!group_of_place.empty()) continue;
    const auto collective = static_cast<std::int32_t>(op);
    group_of_place.resize(sets_->of(collective).size());
    for (std::size_t group = 0; group < communicator.groups.size(); ++group) {
      for (const std::int32_t rank : communicator.groups[group].members)
        group_of_place[sets_->place(collective, rank)] = static_cast<std::int32_t>(group);
    }
  }
  count_predecessors();
  list_successors();
}

void Readiness::count_predecessors() {
  std::size_t places = 0;
  for (std::int32_t op = 0; op < sets_->ops(); ++op) {
    predecessors_left_begin_.push_back(places);
    places += sets_->of(op).size();
  }
  predecessors_left_.assign(places, 0);
  for (std::int32_t op = 0; op < sets_->ops(); ++op) {
    std::uint16_t* left = predecessors_left_.data() + predecessors_left_begin_[op];
    const std::span<const std::int32_t> ranks = sets_->of(op);
    for (const std::int32_t predecessor : program_.ops[op].predecessors) {
      const bool same_ranks = sets_->set(predecessor) == sets_->set(op);
      for (std::size_t place = 0; place < ranks.size(); ++place)
        left[place] = static_cast<std::uint16_t>(left[place] + (same_ranks || sets_->has(predecessor, ranks[place])));
    }
  }
}

void Readiness::list_successors() {
  const std::size_t ops = program_.ops.size();
  successors_begin_.assign(ops + 1, 0);
  for (const program::ProgramOp& op : program_.ops) {
    for (const std::int32_t predecessor : op.predecessors) ++successors_begin_[position_of(predecessor) + 1];
  }
  for (std::size_t op = 0; op < ops; ++op) successors_begin_[op + 1] += successors_begin_[op];
  successors_.resize(successors_begin_[ops]);
  Indexed<program::ProgramOpId, std::size_t> next(successors_begin_.begin(), successors_begin_.end() - 1);
  for (std::size_t op = 0; op < ops; ++op) {
    for (const std::int32_t predecessor : program_.ops[op].predecessors) {
      successors_[next[predecessor]++] = static_cast<std::int32_t>(op);
    }
  }
}

std::vector<Instance> Readiness::at_outset() {
  std::vector<Instance> ready;
  for (std::int32_t op = 0; op < sets_->ops(); ++op) {
    const std::span<const std::int32_t> ranks = sets_->of(op);
    for (std::size_t place = 0; place < ranks.size(); ++place) {
      if (predecessors_left_[predecessors_left_begin_[op] + place] == 0)
        became_ready(op, ranks[place], static_cast<std::int32_t>(place), ready);
    }
  }
  return ready;
}

void Readiness::ended(std::int32_t op, std::int32_t rank, std::vector<Instance>& ready) {
  const std::int32_t own_place = sets_->place(op, rank);
  for (std::size_t i = successors_begin_[op]; i < successors_begin_[position_of(op) + 1]; ++i) {
    const std::int32_t successor = successors_[i];
    const std::int32_t place = sets_->set(successor) == sets_->set(op) ? own_place : sets_->place(successor, rank);
    if (place < 0) continue;
    if (--predecessors_left_[predecessors_left_begin_[successor] + position_of(place)] == 0)
      became_ready(successor, rank, place, ready);
  }
}

void Readiness::became_ready(std::int32_t op, std::int32_t rank, std::int32_t place, std::vector<Instance>& ready) {
  const program::ProgramOp& program_op = program_.ops[op];
  if (program_op.kind == program::ProgramOp::Kind::compute) {
    ready.push_back({op, rank});
    return;
  }
  const std::int32_t group = group_of_place_[program_op.communicator][place];
  if (--members_left_[members_left_begin_[op] + position_of(group)] == 0) ready.push_back({op, group});
}

}  // namespace lockstep::engine
