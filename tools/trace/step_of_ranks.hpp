#pragma once
/// A step as each of its ranks sees it, for formats with a graph for each rank: the whole program, which operations a
/// rank takes part in, and with whom.
#include <cstdint>
#include <vector>

#include "sim/preparation/preparation.hpp"
#include "sim/simulate.hpp"

namespace lockstep::trace {

class StepOfRanks {
 public:
  using Ranks = std::vector<topologies::RankId>;

  /// `option` stands in the refusal of steps with more than 20 million operations of all ranks.
  StepOfRanks(const scenario::Scenario& scenario, const preparation::PreparedStep& preparation,
              const std::string& option);

  [[nodiscard]] const program::Program& program() const { return program_; }
  [[nodiscard]] std::int32_t ranks() const { return program_.ranks(); }
  /// Position on the cluster, by which other programs know a rank.
  [[nodiscard]] topologies::RankId number_of(topologies::RankId rank) const { return position_of_rank_[rank]; }
  [[nodiscard]] bool takes_part(program::ProgramOpId id, topologies::RankId rank) const;
  /// Of a collective that a rank takes part in: its group's members in their order.
  [[nodiscard]] const Ranks& members(const program::ProgramOp& op, topologies::RankId rank) const;
  /// How long an operation takes that is no collective on the network.
  [[nodiscard]] Seconds time_of(const program::ProgramOp& op, const workloads::StepOp& vertex,
                                topologies::RankId rank) const;
  [[nodiscard]] static bool is_timed(const program::ProgramOp& op, const workloads::StepOp& vertex) {
    return op.kind == program::ProgramOp::Kind::compute || vertex->given_time;
  }
  /// The host launches operations, or kernels slow down beside collectives: graphs of other programs hold neither.
  [[nodiscard]] bool launches_or_shares() const;

 private:
  program::Program program_;
  Indexed<topologies::RankId, topologies::RankId> position_of_rank_;
  Indexed<program::CommunicatorId, Indexed<topologies::RankId, collectives::GroupId>> group_of_rank_;
};

}  // namespace lockstep::trace
