#include "sim/engine/runtime/readiness.hpp"

#include <algorithm>
#include <map>

namespace lockstep::engine {

namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

Readiness::Readiness(const program::Program& program) : program_(program), ranks_(program.stage_of_rank.size()) {
  for (const collectives::Communicator& communicator : program.communicators) {
    std::vector<std::uint8_t> set(ranks_, 0);
    std::vector<std::int32_t> group_of_rank(ranks_, -1);
    for (std::size_t group = 0; group < communicator.groups.size(); ++group) {
      for (const std::int32_t rank : communicator.groups[group].members) {
        set[at(rank)] = 1;
        group_of_rank[at(rank)] = static_cast<std::int32_t>(group);
      }
    }
    rank_sets_.push_back(std::move(set));
    group_of_rank_.push_back(std::move(group_of_rank));
  }
  std::map<std::int32_t, std::size_t> set_of_stage;
  for (const program::ProgramOp& op : program.ops) {
    members_left_begin_.push_back(members_left_.size());
    if (op.kind == program::ProgramOp::Kind::collective) {
      set_of_op_.push_back(at(op.communicator));
      for (const collectives::ProgramGroup& group : program.communicators[at(op.communicator)].groups) {
        members_left_.push_back(static_cast<std::int32_t>(group.members.size()));
      }
      continue;
    }
    const auto [stage, is_new] = set_of_stage.try_emplace(op.stage, rank_sets_.size());
    if (is_new) {
      std::vector<std::uint8_t> set(ranks_, 0);
      for (std::size_t rank = 0; rank < ranks_; ++rank) set[rank] = program.stage_of_rank[rank] == op.stage ? 1 : 0;
      rank_sets_.push_back(std::move(set));
    }
    set_of_op_.push_back(stage->second);
  }
  count_predecessors();
  list_successors();
}

void Readiness::count_predecessors() {
  predecessors_left_.assign(program_.ops.size() * ranks_, 0);
  for (std::size_t op = 0; op < program_.ops.size(); ++op) {
    std::uint16_t* left = predecessors_left_.data() + op * ranks_;
    for (const std::int32_t predecessor : program_.ops[op].predecessors) {
      const std::vector<std::uint8_t>& set = rank_sets_[set_of_op_[at(predecessor)]];
      for (std::size_t rank = 0; rank < ranks_; ++rank) left[rank] = static_cast<std::uint16_t>(left[rank] + set[rank]);
    }
    const std::vector<std::uint8_t>& own = rank_sets_[set_of_op_[op]];
    for (std::size_t rank = 0; rank < ranks_; ++rank) left[rank] = static_cast<std::uint16_t>(left[rank] * own[rank]);
  }
}

void Readiness::list_successors() {
  const std::size_t ops = program_.ops.size();
  successors_begin_.assign(ops + 1, 0);
  for (const program::ProgramOp& op : program_.ops) {
    for (const std::int32_t predecessor : op.predecessors) ++successors_begin_[at(predecessor) + 1];
  }
  for (std::size_t op = 0; op < ops; ++op) successors_begin_[op + 1] += successors_begin_[op];
  successors_.resize(successors_begin_[ops]);
  std::vector<std::size_t> next(successors_begin_.begin(), successors_begin_.end() - 1);
  for (std::size_t op = 0; op < ops; ++op) {
    for (const std::int32_t predecessor : program_.ops[op].predecessors) {
      successors_[next[at(predecessor)]++] = static_cast<std::int32_t>(op);
    }
  }
}

std::vector<Instance> Readiness::at_outset() {
  std::vector<Instance> ready;
  for (std::size_t op = 0; op < program_.ops.size(); ++op) {
    const std::vector<std::uint8_t>& set = rank_sets_[set_of_op_[op]];
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      if (set[rank] != 0 && predecessors_left_[op * ranks_ + rank] == 0) {
        became_ready(static_cast<std::int32_t>(op), static_cast<std::int32_t>(rank), ready);
      }
    }
  }
  return ready;
}

void Readiness::ended(std::int32_t op, std::int32_t rank, std::vector<Instance>& ready) {
  for (std::size_t i = successors_begin_[at(op)]; i < successors_begin_[at(op) + 1]; ++i) {
    const std::int32_t successor = successors_[i];
    if (--predecessors_left_[at(successor) * ranks_ + at(rank)] == 0) became_ready(successor, rank, ready);
  }
}

void Readiness::became_ready(std::int32_t op, std::int32_t rank, std::vector<Instance>& ready) {
  const program::ProgramOp& program_op = program_.ops[at(op)];
  if (program_op.kind == program::ProgramOp::Kind::compute) {
    ready.push_back({op, rank});
    return;
  }
  const std::int32_t group = group_of_rank_[at(program_op.communicator)][at(rank)];
  if (--members_left_[members_left_begin_[at(op)] + at(group)] == 0) ready.push_back({op, group});
}

}  // namespace lockstep::engine
