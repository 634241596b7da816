#pragma once
/// Fits the time that whole training steps lose outside their kernels: the chip's `sustained` and `host`.
#include "sim/studies/calibration/fit.hpp"
#include "sim/studies/validation/validate.hpp"

namespace lockstep {

struct StepCalibration {
  ChipKernels kernels;  ///< with the fitted parameters
  Fit fit;
  std::vector<ValidatedRun> residuals;
};

/// Every evaluation simulates all runs, so a few dozen are made. Throws ConfigError for runs on another chip and for
/// mistakes in their scenarios.
[[nodiscard]] StepCalibration calibrate_steps(const Chip& chip, const std::vector<RunTable>& tables,
                                              ValidateOptions options, spdlog::logger& log);

}  // namespace lockstep
