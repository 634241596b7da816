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
  /// Standard deviation of log(value) from one machine to the next: what is known before anything is measured. The fit
  /// weighs it against the measurements. 0: nothing is known. Needs low > 0.
  double spread = 0;
  std::string fixed_because = "";  ///< not fitted; empty: fitted
};

struct FittedParameter {
  std::string name;
  double before = 0, after = 0;
  /// How much the root mean square error grows when the parameter alone moves by a tenth, the smaller of both ways:
  /// small where the measurements say little of it.
  double determined = 0;
  std::string kept_because;  ///< why it stays where it was; empty: it was fitted
  [[nodiscard]] bool kept() const { return !kept_because.empty(); }
  bool at_limit = false;  ///< the fit would go on: what it stands for may not be what happens
};

/// A parameter whose `determined` is below this is called hardly determined and put back where it was.
inline constexpr double hardly = 0.001;

struct Fit {
  std::vector<FittedParameter> parameters;
  double before = 0, after = 0;  ///< root mean square of log(predicted / measured)
};

/// log(predicted / measured) of every measurement for values of the parameters, always as many.
using FitErrors = std::function<std::vector<double>(const std::vector<double>&)>;

/// Derivative-free (subplex), since waves and choices make steps; deterministic. What is hardly determined is put back
/// and the rest fitted again. `most` evaluations.
[[nodiscard]] Fit fit(const std::vector<FitParameter>& parameters, const FitErrors& errors, int most = 20'000);

/// For few measurements of whole steps, each costly: the parameters that are most likely after the measurements, if
/// their logarithms vary by `spread` from one machine to the next and a step's by `noise` from its prediction (maximum
/// a posteriori: the sum of (error / noise)^2 and (log(value / before) / spread)^2 is least). Gauss-Newton by
/// differences, which takes about a dozen evaluations. Every parameter that is not fixed needs a spread.
[[nodiscard]] Fit fit_from_prior(const std::vector<FitParameter>& parameters, const FitErrors& errors, double noise);

[[nodiscard]] double root_mean_square(const std::vector<double>& errors);

}  // namespace lockstep::calibration
