#pragma once
/// Which experts stand on which rank, from counted tokens: all ranks of a group wait for the one with the most. Every
/// rank has the same number of experts. Docs: docs/howto/place_ranks.md.
#include <cstdint>
#include <vector>

namespace lockstep::place_ranks {

/// The experts of one layer.
struct PlacedExperts {
  std::vector<int> order;  ///< the expert at each place; a rank has neighbouring places
  double given = 1;        ///< tokens of the fullest rank over the average, in the order of their numbers
  double placed = 1;       ///< in this order
  double bound = 1;        ///< in any order
};

/// `tokens`: of each expert; `ranks` divide them, and so do `groups` of neighbouring experts, which keep their places
/// among the ranks (node-limited routing) and are divided by the ranks, or divide them. The largest experts first, each
/// to the rank with the fewest tokens that has room; then experts of the fullest rank and of others change places as
/// long as that helps.
[[nodiscard]] PlacedExperts place_experts(const std::vector<double>& tokens, std::int64_t ranks,
                                          std::int64_t groups = 1);

}  // namespace lockstep::place_ranks
