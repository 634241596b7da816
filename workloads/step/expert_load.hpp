#pragma once
/// How unevenly a router spreads tokens over experts: a distribution with a seed, drawn anew for every layer and
/// microbatch, or loads that were counted.
#include <cstdint>
#include <vector>

namespace lockstep::workloads {

struct ExpertLoad {
  double variation = 0;  ///< standard deviation over mean of the tokens of one expert, log-normal; 0: even
  std::uint64_t seed = 1;
  std::int64_t experts = 1;
  std::int64_t ranks = 1;  ///< ranks over which the experts are split evenly
  /// Instead of a distribution, by block of the step: what fullest() gives; empty: none was counted.
  std::vector<double> counted = {};

  [[nodiscard]] bool varies() const { return variation > 0 || !counted.empty(); }  ///< from layer to layer

  /// Tokens that the fullest of the ranks gets, over the average. All ranks of the group wait for it at the
  /// combination, so this scales the step's routed work and bytes.
  [[nodiscard]] double fullest(std::int64_t layer, std::int64_t microbatch) const;
};

/// The same of tokens counted expert by expert, split in their order over ranks; 1 without tokens.
[[nodiscard]] double fullest_of(const std::vector<double>& tokens, std::int64_t ranks);

}  // namespace lockstep::workloads
