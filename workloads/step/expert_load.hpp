#pragma once
/// How unevenly a router spreads tokens over experts: a distribution with a seed, drawn anew for every layer and
/// microbatch.
#include <cstdint>

namespace lockstep::workloads {

struct ExpertLoad {
  double variation = 0;  ///< standard deviation over mean of the tokens of one expert, log-normal; 0: even
  std::uint64_t seed = 1;
  std::int64_t experts = 1;
  std::int64_t ranks = 1;  ///< ranks over which the experts are split evenly

  /// Tokens that the fullest of the ranks gets, over the average. All ranks of the group wait for it at the
  /// combination, so this scales the step's routed work and bytes.
  [[nodiscard]] double fullest(std::int64_t layer, std::int64_t microbatch) const;
};

}  // namespace lockstep::workloads
