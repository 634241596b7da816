#pragma once
/// What training with local updates costs: the reductions between sites, and what of them inner steps do not hide.
/// docs/models/local_updates.md
#include <cstdint>
#include <vector>

#include "sim/core/units.hpp"

namespace lockstep::metrics {

/// The reduction of a fragment, and of others that do the same.
struct OuterReduction {
  std::int64_t fragments = 1;
  std::int64_t first_fragment = 0;
  Bytes full_size{0};       ///< of a rank of the stage that holds most of the fragment
  double sent_by_chip = 0;  ///< bytes to other sites, mean over the chips of a site
  Seconds alone{0};         ///< of the reduction itself, without other traffic
  Seconds reduction{0};     ///< beside the inner steps, from the first rank's start to the last one's end
  Seconds exposed{0};       ///< of it, after the last inner step of the delay
  Seconds optimizer{0};     ///< outer gradient and outer update
  Seconds slower{0};        ///< by which the inner steps beside it take longer, if not for the outer optimizer
  /// By which the steps of the delay take longer than without it.
  [[nodiscard]] Seconds extra() const { return exposed + optimizer + slower; }
};

struct LocalUpdates {
  std::int64_t sites = 1;
  std::int64_t chips_of_site = 1;
  std::int64_t inner_steps = 1;  ///< of a period
  Seconds inner_step{0};         ///< one with no reduction under way
  std::vector<OuterReduction> reductions;
  Bytes state{0};    ///< of one chip, of the stage with the most: global parameters and momentum
  Bytes buffers{0};  ///< likewise: outer gradients under way

  [[nodiscard]] Seconds period() const;
  /// Mean over a period of one of the times of its reductions, for a step.
  [[nodiscard]] Seconds of_step(Seconds OuterReduction::*part) const;
  [[nodiscard]] double sent_by_chip_of_period() const;
  /// Rates of all links of a site together, one way: over the period, and while the fragment with the highest travels.
  [[nodiscard]] BytesPerSecond mean_rate_of_site() const;
  [[nodiscard]] BytesPerSecond peak_rate_of_site() const;
  [[nodiscard]] BytesPerSecond rate_of_site(const OuterReduction& reduction) const;
};

struct Breakdown;
struct Metrics;
/// Turns the parts of an inner step into those of the mean step of a period, which add up to its time.
void add_local_updates(Breakdown& breakdown, const LocalUpdates& updates);
/// The same for all metrics.
void add_local_updates(Metrics& metrics, LocalUpdates updates);

}  // namespace lockstep::metrics
