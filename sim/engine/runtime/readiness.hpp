#pragma once
/// Which operations are ready: counts, for every operation and rank that runs it, the predecessors still to end there,
/// and for every collective and group the members still to become ready.
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/program/program.hpp"
#include "sim/timeline/rank_sets.hpp"

namespace lockstep::engine {

/// An operation on one rank, or in one group of its communicator.
struct Instance {
  std::int32_t op;
  std::int32_t index;
};

class Readiness {
 public:
  explicit Readiness(const program::Program& program);

  /// Instances that wait for nothing.
  [[nodiscard]] std::vector<Instance> at_outset();

  /// Operation `op` ended on `rank`: appends the instances that became ready.
  void ended(std::int32_t op, std::int32_t rank, std::vector<Instance>& ready);

  [[nodiscard]] const std::shared_ptr<const timeline::RankSets>& rank_sets() const { return sets_; }

 private:
  void count_predecessors();
  void list_successors();
  /// `place` is the rank's among those that run the operation.
  void became_ready(std::int32_t op, std::int32_t rank, std::int32_t place, std::vector<Instance>& ready);

  const program::Program& program_;
  std::shared_ptr<const timeline::RankSets> sets_;
  Indexed<program::CommunicatorId, Indexed<std::int32_t, collectives::GroupId>>
      group_of_place_;  // by communicator that some operation uses
  // Op-major, so that a batch of ranks that end one operation walks memory in order. An operation has at most 65535
  // predecessors (see check).
  std::vector<std::uint16_t> predecessors_left_;
  Indexed<program::ProgramOpId, std::size_t> predecessors_left_begin_;  // by op
  std::vector<std::int32_t> successors_;                                // compressed rows
  Indexed<program::ProgramOpId, std::size_t> successors_begin_;         // per op, one past the end included
  std::vector<std::int32_t> members_left_;                              // per (collective, group)
  Indexed<program::ProgramOpId, std::size_t> members_left_begin_;
};

/// The ranks of a compute operation's stage, and the members of a collective's groups.
[[nodiscard]] timeline::RankSets rank_sets_of(const program::Program& program);

}  // namespace lockstep::engine
