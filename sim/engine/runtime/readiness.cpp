#include "sim/engine/runtime/readiness.hpp"

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

Readiness::Readiness(const program::Program& program, const Chains& chains)
    : sets_(std::make_shared<const timeline::RankSets>(rank_sets_of(program))),
      group_of_place_(program.communicators.size()) {
  list_nodes(program, chains);
  list_groups(program);
  list_dependences(program, chains);
}

void Readiness::list_nodes(const program::Program& program, const Chains& chains) {
  nodes_.reserve(position_of(chains.count()) + 1);
  of_communicator_.resize(program.communicators.size());
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
  std::size_t counts = 0;
  for (const auto set : of_set_.ids()) {
    of_set_[set].begin = counts;
    of_set_[set].members = sets_->members(set).size();
    counts += of_set_[set].chains * of_set_[set].members;
  }
  predecessors_left_.assign(counts, 0);
  for (const auto communicator : of_communicator_.ids()) {
    auto& rows = of_communicator_[communicator];
    rows.begin = members_left_.size();
    const auto& groups = program.communicators[communicator].groups;
    rows.members = groups.size();
    for (std::size_t chain = 0; chain < rows.chains; ++chain) {
      for (const collectives::ProgramGroup& group : groups)
        members_left_.push_back(static_cast<std::int32_t>(group.members.size()));
    }
  }
}

void Readiness::list_groups(const program::Program& program) {
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

template <class Visit>
void Readiness::for_each_dependence(const program::Program& program, const Chains& chains, Visit visit) const {
  Indexed<ChainId, ChainId> seen_by(chains.count(), -1);
  for (ChainId chain = 0; chain < chains.count(); ++chain) {
    seen_by[chain] = chain;
    for (const auto predecessor : program.ops[chains.first(chain)].predecessors) {
      const ChainId before = chains.of(predecessor);
      if (std::exchange(seen_by[before], chain) != chain) visit(chain, before);
    }
  }
}

void Readiness::list_dependences(const program::Program& program, const Chains& chains) {
  for_each_dependence(program, chains, [&](ChainId chain, ChainId before) {
    ++nodes_[before].successors;  // a count, which the sums below turn into a place
    const Node& node = nodes_[chain];
    const bool same_ranks = nodes_[before].set == node.set;
    std::int32_t place = 0;
    for (const std::int32_t rank : sets_->members(node.set)) {
      if (same_ranks || sets_->place_in(nodes_[before].set, rank) >= 0)
        ++predecessors_left_[of_set_[node.set].at(place, node.of_set)];
      ++place;
    }
  });
  std::size_t end = 0;
  for (Node& node : nodes_) node.successors = end += node.successors;
  successors_.resize(end);
  // Each list is filled from its end, so that its begin is known when it is full. Its order does not matter.
  for_each_dependence(program, chains,
                      [&](ChainId chain, ChainId before) { successors_[--nodes_[before].successors] = chain; });
}

std::vector<Instance> Readiness::at_outset() {
  std::vector<Instance> ready;
  for (ChainId chain = 0; chain + 1 < nodes_.count(); ++chain) {
    const Node& node = nodes_[chain];
    std::int32_t place = 0;
    for (const std::int32_t rank : sets_->members(node.set)) {
      if (predecessors_left_[of_set_[node.set].at(place, node.of_set)] == 0) became_ready(chain, rank, place, ready);
      ++place;
    }
  }
  return ready;
}

void Readiness::ended(ChainId chain, std::int32_t rank, std::vector<Instance>& ready) {
  const Node& node = nodes_[chain];
  const std::int32_t own_place = sets_->place_in(node.set, rank);
  for (std::size_t i = node.successors; i < nodes_[position_of(chain) + 1].successors; ++i) {
    const ChainId successor = successors_[i];
    const Node& later = nodes_[successor];
    const std::int32_t place = later.set == node.set ? own_place : sets_->place_in(later.set, rank);
    if (place < 0) continue;
    if (--predecessors_left_[of_set_[later.set].at(place, later.of_set)] == 0)
      became_ready(successor, rank, place, ready);
  }
}

void Readiness::became_ready(ChainId chain, std::int32_t rank, std::int32_t place, std::vector<Instance>& ready) {
  const Node& node = nodes_[chain];
  if (node.communicator == no_communicator) {
    ready.push_back({chain, rank});
    return;
  }
  const std::int32_t group = group_of_place_[node.communicator][place];
  if (--members_left_[of_communicator_[node.communicator].at(group, node.of_communicator)] == 0)
    ready.push_back({chain, group});
}

}  // namespace lockstep::engine
