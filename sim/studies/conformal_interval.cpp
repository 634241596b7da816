#include "sim/studies/conformal_interval.hpp"

#include <algorithm>

namespace lockstep::studies {
namespace {

constexpr double rounding = 1e-12;  // of sums of weights
constexpr double tail = (1 - interval_share) / 2;

double percentile_of_sorted(const std::vector<WeightedResidual>& residuals, double share) {
  double sum = 0, below = 0;
  for (const auto& each : residuals) sum += each.weight;
  for (const auto& each : residuals) {
    below += each.weight;
    if (below >= share * sum * (1 - rounding)) return each.residual;
  }
  return residuals.back().residual;
}

void sort(std::vector<WeightedResidual>& residuals) {
  std::sort(residuals.begin(), residuals.end(), [](const auto& one, const auto& other) {
    return one.residual != other.residual ? one.residual < other.residual : one.weight < other.weight;
  });
}

}  // namespace

double percentile(std::vector<WeightedResidual> residuals, double share) {
  sort(residuals);
  return percentile_of_sorted(residuals, share);
}

ResidualInterval ResidualInterval::widened(double doubt, std::size_t sources) const {
  const double factor = 1 + doubt / static_cast<double>(sources);
  return {median - factor * (median - low), median, median + factor * (high - median)};
}

ResidualInterval interval_of(const std::vector<WeightedResidual>& residuals) {
  auto sorted = residuals;
  sort(sorted);
  return {percentile_of_sorted(sorted, tail), percentile_of_sorted(sorted, 0.5),
          percentile_of_sorted(sorted, 1 - tail)};
}

double least_doubt(const std::function<double(double doubt)>& held) {
  constexpr int most = 100;
  for (int tenths = 0; tenths < most; ++tenths) {
    if (held(tenths / 10.0) >= interval_share) return tenths / 10.0;
  }
  return most / 10.0;
}

}  // namespace lockstep::studies
