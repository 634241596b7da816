#pragma once
/// Least squares of log(predicted / measured) over a few bounded parameters: an error of a factor counts alike at every
/// size and in both directions.
#include <functional>
#include <string>
#include <vector>

namespace lockstep::calibration {

struct FitParameter {
  std::string name;
  double value = 0;  ///< to start from
  double low = 0;    ///< above zero: the parameter is varied by factors; zero: by differences
  double high = 1;
};

struct FittedParameter {
  std::string name;
  double before = 0, after = 0;
  /// How much the root mean square error grows when the parameter alone moves by a tenth, the smaller of both ways:
  /// small where the measurements say little of it.
  double determined = 0;
  bool kept = false;      ///< no measurement depends on it
  bool at_limit = false;  ///< the fit would go on: what it stands for may not be what happens
};

struct Fit {
  std::vector<FittedParameter> parameters;
  double before = 0, after = 0;  ///< root mean square of log(predicted / measured)
};

/// `errors` gives log(predicted / measured) of every measurement, always as many. Derivative-free (subplex), since
/// waves and choices make steps; deterministic. `most` evaluations.
[[nodiscard]] Fit fit(const std::vector<FitParameter>& parameters,
                      const std::function<std::vector<double>(const std::vector<double>&)>& errors, int most = 20'000);

[[nodiscard]] double root_mean_square(const std::vector<double>& errors);

}  // namespace lockstep::calibration
