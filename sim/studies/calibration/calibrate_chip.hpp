#pragma once
/// A chip's kernel parameters from kernels that were timed on it.
#include <string>
#include <vector>

#include "sim/studies/calibration/fit.hpp"
#include "sim/studies/calibration/measured_kernels.hpp"
#include "topologies/chips/chip.hpp"

namespace lockstep::calibration {

/// A kernel and what the chip's parameters make of it.
struct KernelResidual {
  MeasuredKernel measured;
  Seconds predicted{0};
  [[nodiscard]] double error() const { return predicted / measured.time - 1; }
};

struct ChipCalibration {
  topologies::Chip chip;  ///< with the fitted parameters
  Fit fit;
  std::vector<KernelResidual> residuals;  ///< in the order of the measurements
};

/// Seconds of one kernel by itself, at the clock of a benchmark. The chip must have parameters and the precision's
/// peak.
[[nodiscard]] Seconds kernel_by_itself(const topologies::Chip& chip, const MeasuredKernel& measured);

/// Fits the parameters that the kernels depend on, from those that the chip has. Throws ConfigError for precisions that
/// it has no peak for. `sustained` and `host` are of whole steps and stay.
[[nodiscard]] ChipCalibration calibrate_chip(const topologies::Chip& chip, const std::vector<MeasuredKernel>& kernels);

/// The key `kernels` of a chip, as YAML; `source` becomes its only source.
[[nodiscard]] std::string kernels_yaml(const topologies::ChipKernels& kernels, const std::string& source);

}  // namespace lockstep::calibration
