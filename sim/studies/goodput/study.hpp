#pragma once
/// Goodput of a scenario: the expected shares of its time, many simulated runs beside them, and intervals between
/// checkpoints compared.
#include <cstdint>
#include <vector>

#include "sim/studies/goodput/renewal.hpp"

namespace lockstep::goodput {

/// Runs of equal length, seeds `seed`, `seed` + 1, ...
struct SimulatedRuns {
  std::int64_t runs = 0;
  std::uint64_t seed = 1;
  Seconds length{0};  ///< of each
  TimeShares mean;
  double half_width = 0;     ///< of the 95 % confidence interval of the mean useful share
  double low = 0, high = 0;  ///< 5th and 95th percentile of the runs' useful shares
};

struct IntervalChoice {
  Seconds interval;
  double useful;
};

struct GoodputStudy {
  RunModel model;
  TimeShares expected;
  IntervalChoice best;                 ///< largest useful share
  Seconds first_order{0};              ///< sqrt(2 C M)
  std::vector<IntervalChoice> around;  ///< a quarter of the model's interval to four times, as far as possible
  SimulatedRuns simulated;
};

/// Throws ConfigError, placed at `--runs`, for more than about a minute of events. At least two runs.
[[nodiscard]] GoodputStudy study_goodput(RunModel model, std::int64_t runs, std::uint64_t seed, Seconds length);

}  // namespace lockstep::goodput
