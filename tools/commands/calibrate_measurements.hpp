#pragma once
/// The files that `lockstep calibrate` takes, of several kinds together.
#include <string>
#include <vector>

#include "sim/studies/calibration/measured_kernels.hpp"
#include "sim/studies/calibration/nccl_log.hpp"
#include "sim/studies/validation/validate.hpp"

namespace lockstep::commands {

/// The measurements in the files.
struct Measurements {
  std::vector<calibration::MeasuredKernel> kernels;
  std::vector<topologies::TimedProduct> products;  ///< those of the kernels that tables list by shape
  std::vector<std::string> product_files;
  std::vector<calibration::TimedCollective> collectives;
  std::vector<validation::RunTable> steps;
  std::size_t other_chips = 0;  ///< rows of products of other chips, which are left out
};

/// Reads CSVs by their columns, traces, and all else as output of nccl-tests, for which `unsaid` has what it does not
/// say. Of tables of products, the rows of `chip`; all if it is "". Throws ConfigError for all mistakes in them, and if
/// nothing was measured.
[[nodiscard]] Measurements read_measurements(const std::vector<std::string>& files, const calibration::NcclRun& unsaid,
                                             const std::string& chip);

}  // namespace lockstep::commands
