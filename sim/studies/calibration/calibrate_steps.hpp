#pragma once
/// Fits the time that whole training steps lose outside their kernels: the chip's `sustained` and `host`.
#include "sim/studies/calibration/fit.hpp"
#include "sim/studies/validation/validate.hpp"

namespace lockstep::calibration {

struct StepCalibration {
  topologies::ChipKernels kernels;  ///< with the fitted parameters
  Fit fit;
  std::vector<validation::ValidatedRun> residuals;
};

/// Every evaluation simulates all runs, so a few dozen are made. Throws ConfigError for runs on another chip and for
/// mistakes in their scenarios.
[[nodiscard]] StepCalibration calibrate_steps(const topologies::Chip& chip,
                                              const std::vector<validation::RunTable>& tables,
                                              validation::ValidateOptions options, spdlog::logger& log);

}  // namespace lockstep::calibration
