#pragma once
/// Fits the time that whole training steps lose outside their kernels: the chip's `sustained` and `host`.
#include "sim/studies/calibration/fit.hpp"
#include "sim/studies/validation/error_band.hpp"
#include "sim/studies/validation/validate.hpp"

namespace lockstep::calibration {

/// What is known before a machine's own steps are: standard deviations of logarithms. A few steps of a machine are not
/// believed whole: a part of what they are off is theirs and not the machine's.
struct StepPrior {
  double step = 0.05;      ///< of a step about its machine's others
  double sustained = 0.1;  ///< of `sustained` from one machine to the next
  double host = 0.4;       ///< of `host`; assumed: hosts of one chip differ by half
  std::string pool;        ///< the measured steps that say so; empty: assumed
};

/// From validated steps like the first of the tables that counts (ErrorBands::scatter).
[[nodiscard]] StepPrior step_prior(const std::vector<validation::ValidatedFamily>& families,
                                   const std::vector<validation::RunTable>& tables);
/// The catalog's validated steps; none where it has no such file.
[[nodiscard]] std::vector<validation::ValidatedFamily> catalog_families();

struct StepCalibration {
  topologies::ChipKernels kernels;  ///< with the fitted parameters, and how many steps they were fitted to
  Fit fit;
  std::vector<validation::ValidatedRun> residuals;
};

/// The most likely `sustained` and `host` after these steps (fit_from_prior); about a dozen simulations of every run.
/// `chip` has the values to start from; `options.adjust` may put it, or a network, into the runs' scenarios. Throws
/// ConfigError for runs on another chip and for mistakes in their scenarios.
[[nodiscard]] StepCalibration calibrate_steps(const topologies::Chip& chip,
                                              const std::vector<validation::RunTable>& tables, const StepPrior& prior,
                                              validation::ValidateOptions options, spdlog::logger& log);

/// As `adjust` of ValidateOptions: `before`, and then the chip's clock and host are so many times what they were.
[[nodiscard]] std::function<void(scenario::Scenario&)> with_factors(std::function<void(scenario::Scenario&)> before,
                                                                    double sustained, double host);

}  // namespace lockstep::calibration
