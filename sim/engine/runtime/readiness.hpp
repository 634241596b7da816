#pragma once
/// Which chains of operations are ready: counts, for every chain and rank that runs it, the chains before it still to
/// end there, and for every collective and group the members still to become ready.
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/engine/runtime/chains.hpp"
#include "sim/program/program.hpp"
#include "sim/timeline/rank_sets.hpp"

namespace lockstep::engine {

/// A chain on one rank, or a collective in one group of its communicator.
struct Instance {
  ChainId chain;
  std::int32_t index;
};

class Readiness {
 public:
  Readiness(const program::Program& program, const Chains& chains);

  /// Instances that wait for nothing.
  [[nodiscard]] std::vector<Instance> at_outset();

  /// The last operation of `chain` ended on `rank`: appends the instances that became ready.
  void ended(ChainId chain, std::int32_t rank, std::vector<Instance>& ready);

  [[nodiscard]] const std::shared_ptr<const timeline::RankSets>& rank_sets() const { return sets_; }

 private:
  struct Node {
    std::int32_t set;                      ///< of ranks that run it
    program::CommunicatorId communicator;  ///< no_communicator: it computes
    std::size_t of_set, of_communicator;   ///< how many chains of the same set and communicator come before it
    std::size_t successors;                ///< where they begin; they end where those of the next chain do
  };
  /// Numbers for each member of a set of ranks, or each group of a communicator, chain by chain.
  struct Rows {
    std::size_t chains = 0, members = 0, begin = 0;
    [[nodiscard]] std::size_t at(std::int32_t member, std::size_t chain) const {
      return begin + chain * members + position_of(member);
    }
  };
  static constexpr program::CommunicatorId no_communicator = -1;

  void list_nodes(const program::Program& program, const Chains& chains);
  void list_groups(const program::Program& program);
  /// Calls `visit(chain, before)` once for every chain and every other that its first operation waits for.
  template <class Visit>
  void for_each_dependence(const program::Program& program, const Chains& chains, Visit visit) const;
  void list_dependences(const program::Program& program, const Chains& chains);
  /// `place` is the rank's among those that run the chain.
  void became_ready(ChainId chain, std::int32_t rank, std::int32_t place, std::vector<Instance>& ready);

  std::shared_ptr<const timeline::RankSets> sets_;
  Indexed<ChainId, Node> nodes_;  ///< and the end of the last
  Indexed<std::int32_t, Rows> of_set_;
  Indexed<program::CommunicatorId, Rows> of_communicator_;
  Indexed<program::CommunicatorId, Indexed<std::int32_t, collectives::GroupId>>
      group_of_place_;  // by communicator that some operation uses
  // By set, chain and rank, so that ranks that end one chain walk memory in order; even where no two ranks are alike,
  // this is faster than rank by rank. An operation has at most 65535 predecessors (see check).
  std::vector<std::uint16_t> predecessors_left_;
  std::vector<std::int32_t> members_left_;  // by communicator, collective and group
  std::vector<ChainId> successors_;
};

/// The ranks of a compute operation's stage, and the members of a collective's groups.
[[nodiscard]] timeline::RankSets rank_sets_of(const program::Program& program);

}  // namespace lockstep::engine
