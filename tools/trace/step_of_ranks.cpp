#include "tools/trace/step_of_ranks.hpp"

#include <algorithm>

namespace lockstep::trace {
namespace {

constexpr std::int64_t most_nodes = 20'000'000;

}  // namespace

StepOfRanks::StepOfRanks(const scenario::Scenario& scenario, const preparation::PreparedStep& preparation,
                         const std::string& option)
    : program_(lower_with_perturbations(scenario, preparation)), position_of_rank_(program_.ranks()) {
  const auto& cluster = *preparation.machine.cluster;
  Indexed<topologies::DeviceId, topologies::RankId> position(cluster.devices());
  for (topologies::RankId at = 0; at < cluster.devices(); ++at) position[cluster.device_at_position(at)] = at;
  for (const auto rank : position_of_rank_.ids())
    position_of_rank_[rank] = position[preparation.machine.mesh->device_of(rank)];
  if (std::ssize(program_.ops) * program_.ranks() > most_nodes)
    throw ConfigError({{{option, 0, 0},
                        "",
                        "the step has more than 20 million operations of all ranks",
                        "fewer ranks or microbatches"}});
  group_of_rank_.resize(program_.communicators.size());
  for (const auto id : program_.communicators.ids()) {
    auto& groups = group_of_rank_[id];
    groups.assign(program_.ranks(), -1);
    for (collectives::GroupId group = 0; std::cmp_less(group, program_.communicators[id].groups.size()); ++group) {
      for (const auto member : program_.communicators[id].groups[group].members) groups[member] = group;
    }
  }
}

bool StepOfRanks::takes_part(program::ProgramOpId id, topologies::RankId rank) const {
  const auto& op = program_.ops[id];
  return op.kind == program::ProgramOp::Kind::compute ? program_.stage_of_rank[rank] == op.stage
                                                      : group_of_rank_[op.communicator][rank] >= 0;
}

const StepOfRanks::Ranks& StepOfRanks::members(const program::ProgramOp& op, topologies::RankId rank) const {
  return program_.communicators[op.communicator].groups[group_of_rank_[op.communicator][rank]].members;
}

Seconds StepOfRanks::time_of(const program::ProgramOp& op, const workloads::StepOp& vertex,
                             topologies::RankId rank) const {
  return op.kind == program::ProgramOp::Kind::compute
             ? program_.on_chip_of(rank, op).duration * program_.slowdown_of_rank[rank] + op.held
             : *vertex->given_time;
}

bool StepOfRanks::launches_or_shares() const {
  return std::any_of(program_.ops.begin(), program_.ops.end(),
                     [](const program::ProgramOp& op) { return op.shares_chip || op.launched > Seconds(0); });
}

}  // namespace lockstep::trace
