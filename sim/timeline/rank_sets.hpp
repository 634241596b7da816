#pragma once
/// Which ranks run each operation. A rank runs only what belongs to its stage or to a group that it is in, so what is
/// kept by (operation, rank) is kept by (operation, place of the rank in the operation's set). Operations share sets.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/indexed.hpp"

namespace lockstep::timeline {

class RankSets {
 public:
  using Ranks = std::vector<std::int32_t>;  ///< ascending

  RankSets() = default;
  /// `set_of_op` says which of `sets` runs each operation; their ranks lie below `ranks`. Equal sets become one.
  RankSets(std::int32_t ranks, std::vector<Ranks> sets, const std::vector<std::int32_t>& set_of_op);

  [[nodiscard]] std::int32_t ranks() const { return ranks_; }
  [[nodiscard]] std::int32_t ops() const { return static_cast<std::int32_t>(set_of_op_.size()); }
  [[nodiscard]] std::int32_t sets() const { return sets_.count(); }
  /// Operations that the same ranks run have the same set.
  [[nodiscard]] std::int32_t set(std::int32_t op) const { return set_of_op_[op]; }
  [[nodiscard]] std::span<const std::int32_t> of(std::int32_t op) const { return members(set(op)); }
  [[nodiscard]] std::span<const std::int32_t> members(std::int32_t set) const { return sets_[set].ranks; }
  /// Where a rank stands among those that run the operation; -1: it does not.
  [[nodiscard]] std::int32_t place(std::int32_t op, std::int32_t rank) const { return place_in(set(op), rank); }
  /// The same among the members of a set.
  [[nodiscard]] std::int32_t place_in(std::int32_t number, std::int32_t rank) const {
    const Set& set = sets_[number];
    const auto from_first = static_cast<std::size_t>(rank - set.first);  // huge for a rank before the first
    return from_first < set.places.size() ? set.places[from_first] : -1;
  }

  [[nodiscard]] bool has(std::int32_t op, std::int32_t rank) const { return place(op, rank) >= 0; }

  /// Calls `visit` for every operation that a rank runs, those of one set after those of another.
  template <class Visit>
  void for_each_op_of(std::int32_t rank, Visit visit) const {
    for (const std::int32_t set : sets_of_rank_[rank]) {
      for (const std::int32_t op : sets_[set].ops) visit(op);
    }
  }

 private:
  struct Set {
    Ranks ranks;
    std::int32_t first = 0;
    std::vector<std::int32_t> places;  // by rank from the first to the last; -1: not in the set
    std::vector<std::int32_t> ops;
  };

  std::int32_t ranks_ = 0;
  Indexed<std::int32_t, Set> sets_;
  Indexed<std::int32_t, std::int32_t> set_of_op_;
  Indexed<std::int32_t, std::vector<std::int32_t>> sets_of_rank_;
};

}  // namespace lockstep::timeline
