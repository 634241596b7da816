#include "workloads/step/expert_load.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

namespace lockstep::workloads {
namespace {

/// In (0, 1]; the standard library's distributions differ between implementations.
double uniform(std::mt19937_64& random) { return (static_cast<double>(random() >> 11) + 1) * 0x1p-53; }

}  // namespace

double ExpertLoad::fullest(std::int64_t layer, std::int64_t microbatch) const {
  if (!counted.empty()) return counted[static_cast<std::size_t>(layer)];
  if (variation <= 0 || ranks <= 1) return 1.0;
  std::seed_seq seeds{seed, seed >> 32, static_cast<std::uint64_t>(layer), static_cast<std::uint64_t>(microbatch)};
  std::mt19937_64 random(seeds);
  const double sigma = std::sqrt(std::log1p(variation * variation));  // of the logarithm
  const auto each = experts / ranks;
  double sum = 0;
  double most = 0;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    double own = 0;
    for (std::int64_t expert = 0; expert < each; ++expert) {
      const double radius = std::sqrt(-2 * std::log(uniform(random)));  // Box and Muller
      own += std::exp(sigma * radius * std::cos(2 * std::numbers::pi * uniform(random)));
    }
    sum += own;
    most = std::max(most, own);
  }
  return most / sum * static_cast<double>(ranks);
}

double fullest_of(const std::vector<double>& tokens, std::int64_t ranks) {
  const auto each = tokens.size() / static_cast<std::size_t>(ranks);
  double sum = 0, most = 0;
  for (std::size_t first = 0; first < tokens.size(); first += each) {
    double own = 0;
    for (std::size_t expert = first; expert < first + each; ++expert) own += tokens[expert];
    sum += own;
    most = std::max(most, own);
  }
  return sum > 0 ? most / sum * static_cast<double>(ranks) : 1;
}

}  // namespace lockstep::workloads
