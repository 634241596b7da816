#pragma once
/// Intervals in which most of what was measured lay, beside what was predicted, and by how much they are widened so
/// that the next source lies in them too: split conformal prediction with sources as the unit that is left out (Barber
/// et al., "Predictive inference with the jackknife+", 2021; Dunn et al., "Distribution-free prediction sets for
/// two-layer hierarchical models", 2022). Of step times: validation/error_band.hpp; of peaks of memory: memory_fit.hpp.
///
/// An interval runs from the 10th to the 90th percentile of weighted residuals, on both sides of the median widened by
///
///   1 + doubt / sources that it is made of,
///
/// since the next source lies further from few than from many. The doubt is the least with which intervals made without
/// a source hold as much of that source as they promise.
#include <cstddef>
#include <functional>
#include <vector>

namespace lockstep::studies {

inline constexpr double interval_share = 0.8;  ///< of what was measured

struct WeightedResidual {
  double residual;  ///< log(measured / predicted)
  double weight;
};
/// The least residual that, with all below it, has this share of the weight. There must be one.
[[nodiscard]] double percentile(std::vector<WeightedResidual> residuals, double share);

struct ResidualInterval {
  double low, median, high;
  [[nodiscard]] ResidualInterval widened(double doubt, std::size_t sources) const;
  [[nodiscard]] bool holds(double residual) const { return low <= residual && residual <= high; }
};
/// Of at least one residual.
[[nodiscard]] ResidualInterval interval_of(const std::vector<WeightedResidual>& residuals);

/// The least doubt, in steps of a tenth and at most 10, with which sources that are left out are held as promised:
/// `held` says the share of them, the mean over sources, that intervals of this doubt hold.
[[nodiscard]] double least_doubt(const std::function<double(double doubt)>& held);

}  // namespace lockstep::studies
