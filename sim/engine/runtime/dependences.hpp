#pragma once
/// Which chains of operations wait for which, and on which ranks: what does not change while a program runs. Readiness
/// counts down along it.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/engine/runtime/chains.hpp"
#include "sim/program/program.hpp"
#include "sim/timeline/rank_sets.hpp"

namespace lockstep::engine {

class Dependences {
 public:
  Dependences(const program::Program& program, const Chains& chains);

  static constexpr program::CommunicatorId no_communicator = -1;
  struct Node {
    std::int32_t set;                      ///< of ranks that run it
    program::CommunicatorId communicator;  ///< no_communicator: it computes
    std::size_t of_set, of_communicator;   ///< how many chains of the same set and communicator come before it
    std::size_t successors;                ///< where they begin; they end where those of the next chain do
  };

  [[nodiscard]] ChainId chains() const { return nodes_.count() - 1; }
  [[nodiscard]] const Node& node(ChainId chain) const { return nodes_[chain]; }
  /// Chains whose first operation waits for this one, each once.
  [[nodiscard]] std::span<const ChainId> successors(ChainId chain) const {
    return {successors_.data() + nodes_[chain].successors,
            successors_.data() + nodes_[position_of(chain) + 1].successors};
  }
  [[nodiscard]] const std::shared_ptr<const timeline::RankSets>& rank_sets() const { return sets_; }

  /// A number for every chain and rank that runs it, below `counts`; those of a chain's ranks follow each other.
  [[nodiscard]] std::size_t counts() const { return counts_; }
  [[nodiscard]] std::size_t count_of(const Node& node, std::int32_t place) const {
    return of_set_[node.set].at(place, node.of_set);
  }
  /// The same for every collective and group; `members_of_groups` has an entry for each, how many members the group
  /// has.
  [[nodiscard]] std::size_t count_of_group(const Node& node, std::int32_t group) const {
    return of_communicator_[node.communicator].at(group, node.of_communicator);
  }
  [[nodiscard]] std::vector<std::int32_t> members_of_groups() const;
  /// The group of a collective in which the rank at this place of its set is.
  [[nodiscard]] std::int32_t group_of(const Node& node, std::int32_t place) const {
    return group_of_place_[node.communicator][place];
  }

 private:
  /// Numbers for each member of a set of ranks, or each group of a communicator, chain by chain.
  struct Rows {
    std::size_t chains = 0, members = 0, begin = 0;
    [[nodiscard]] std::size_t at(std::int32_t member, std::size_t chain) const {
      return begin + chain * members + position_of(member);
    }
  };

  void list_nodes(const program::Program& program, const Chains& chains);
  void list_groups(const program::Program& program);
  void list_successors(const program::Program& program, const Chains& chains);

  std::shared_ptr<const timeline::RankSets> sets_;
  Indexed<ChainId, Node> nodes_;  ///< and the end of the last
  Indexed<std::int32_t, Rows> of_set_;
  Indexed<program::CommunicatorId, Rows> of_communicator_;
  Indexed<program::CommunicatorId, std::vector<std::int32_t>> members_of_group_;
  Indexed<program::CommunicatorId, Indexed<std::int32_t, collectives::GroupId>>
      group_of_place_;  // by communicator that some operation uses
  std::vector<ChainId> successors_;
  std::size_t counts_ = 0;
};

/// The ranks of a compute operation's stage, and the members of a collective's groups.
[[nodiscard]] timeline::RankSets rank_sets_of(const program::Program& program);

}  // namespace lockstep::engine
