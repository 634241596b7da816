#include "sim/engine/runtime/dependences.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "sim/core/indexed.hpp"

namespace lockstep::engine {

timeline::RankSets rank_sets_of(const program::Program& program) {
  constexpr std::int32_t unknown = -1;
  std::vector<timeline::RankSets::Ranks> sets;
  std::map<workloads::StageId, std::int32_t> of_stage;
  Indexed<program::CommunicatorId, std::int32_t> of_communicator(program.communicators.size(), unknown);
  std::vector<std::int32_t> set_of_op;
  set_of_op.reserve(program.ops.size());
  std::int32_t* of_last_stage = nullptr;  // many operations of a stage stand together
  workloads::StageId last_stage = 0;
  for (const program::ProgramOp& op : program.ops) {
    const bool computes = op.kind == program::ProgramOp::Kind::compute;
    if (computes && (of_last_stage == nullptr || op.stage != last_stage)) {
      of_last_stage = &of_stage.try_emplace(op.stage, unknown).first->second;
      last_stage = op.stage;
    }
    auto& set = computes ? *of_last_stage : of_communicator[op.communicator];
    const bool is_new = set == unknown;
    if (is_new) set = static_cast<std::int32_t>(sets.size());
    set_of_op.push_back(set);
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

Dependences::Dependences(const program::Program& program, const Chains& chains)
    : sets_(std::make_shared<const timeline::RankSets>(rank_sets_of(program))),
      group_of_place_(program.communicators.size()) {
  list_nodes(program, chains);
  list_groups(program);
  list_successors(program, chains);
}

void Dependences::list_nodes(const program::Program& program, const Chains& chains) {
  nodes_.reserve(position_of(chains.count()) + 1);
  of_communicator_.resize(program.communicators.size());
  members_of_group_.resize(program.communicators.size());
  for (ChainId chain = 0; chain < chains.count(); ++chain) {
    const auto first = chains.first(chain);
    const program::ProgramOp& op = program.ops[first];
    const auto set = sets_->set(first);
    if (!of_set_.contains(set)) of_set_.resize(position_of(set) + 1);
    const bool computes = op.kind == program::ProgramOp::Kind::compute;
    nodes_.push_back({set, computes ? no_communicator : op.communicator, of_set_[set].chains++,
                      computes ? 0 : of_communicator_[op.communicator].chains++, 0});
  }
  nodes_.push_back({-1, no_communicator, 0, 0, 0});
  for (const auto set : of_set_.ids()) {
    of_set_[set].begin = counts_;
    of_set_[set].members = sets_->members(set).size();
    counts_ += of_set_[set].chains * of_set_[set].members;
  }
  std::size_t groups = 0;
  for (const auto communicator : of_communicator_.ids()) {
    auto& rows = of_communicator_[communicator];
    rows.begin = groups;
    rows.members = program.communicators[communicator].groups.size();
    groups += rows.chains * rows.members;
    for (const collectives::ProgramGroup& group : program.communicators[communicator].groups)
      members_of_group_[communicator].push_back(static_cast<std::int32_t>(group.members.size()));
  }
}

void Dependences::list_groups(const program::Program& program) {
  for (const Node& node : nodes_) {
    if (node.communicator == no_communicator || !group_of_place_[node.communicator].empty()) continue;
    auto& group_of_place = group_of_place_[node.communicator];
    group_of_place.resize(sets_->members(node.set).size());
    const auto& groups = program.communicators[node.communicator].groups;
    for (std::size_t group = 0; group < groups.size(); ++group) {
      for (const std::int32_t rank : groups[group].members)
        group_of_place[sets_->place_in(node.set, rank)] = static_cast<std::int32_t>(group);
    }
  }
}

std::vector<std::int32_t> Dependences::members_of_groups() const {
  std::vector<std::int32_t> members;
  for (const auto communicator : of_communicator_.ids()) {
    const auto& of_group = members_of_group_[communicator];
    for (std::size_t chain = 0; chain < of_communicator_[communicator].chains; ++chain)
      members.insert(members.end(), of_group.begin(), of_group.end());
  }
  return members;
}

void Dependences::list_successors(const program::Program& program, const Chains& chains) {
  Indexed<ChainId, ChainId> seen_by(chains.count(), -1);
  const auto for_each_dependence = [&](auto visit) {
    std::fill(seen_by.begin(), seen_by.end(), -1);
    for (ChainId chain = 0; chain < chains.count(); ++chain) {
      seen_by[chain] = chain;
      for (const auto predecessor : program.ops[chains.first(chain)].predecessors) {
        const ChainId before = chains.of(predecessor);
        if (std::exchange(seen_by[before], chain) != chain) visit(chain, before);
      }
    }
  };
  for_each_dependence([&](ChainId, ChainId before) {
    ++nodes_[before].successors;  // a count, which the sums below turn into a place
  });
  std::size_t end = 0;
  for (Node& node : nodes_) node.successors = end += node.successors;
  successors_.resize(end);
  // Each list is filled from its end, so that its begin is known when it is full. Its order does not matter.
  for_each_dependence([&](ChainId chain, ChainId before) { successors_[--nodes_[before].successors] = chain; });
}

}  // namespace lockstep::engine
