#pragma once
/// How well a chip's kernel parameters that were fitted on some tables hold for another.
#include <string>
#include <vector>

#include "sim/studies/validation/validate.hpp"

namespace lockstep::validation {

/// Every table of a chip with rows of more than one table: its errors as they are, when two scales of the chip (of what
/// kernels reach of the matrix rate, and of memory) are fitted to all its tables, and when they are fitted to the
/// others.
struct LeftOut {
  std::string chip, table;
  ErrorStatistics as_is, fitted, left_out;
  double compute = 1, memory = 1;  ///< the scales that the other tables ask for
};

/// To first order: log(predicted / measured) of a row becomes that plus response.compute x + response.memory y, and x
/// and y make its mean square least, tables weighing the same. The rows need their responses.
[[nodiscard]] std::vector<LeftOut> leave_one_out(const std::vector<ValidatedRun>& runs);

}  // namespace lockstep::validation
