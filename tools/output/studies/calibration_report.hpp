#pragma once
/// The output of `lockstep calibrate`: parameters before and after, residuals, and the YAML to use.
#include <string>
#include <vector>

#include "sim/studies/calibration/fit.hpp"

namespace lockstep::output {

/// A measurement and what the fitted parameters make of it.
struct CalibrationRow {
  std::string group;  ///< errors are summed up by it: "products in bf16"
  std::string name;
  double measured_s = 0, predicted_s = 0;
  [[nodiscard]] double error() const { return predicted_s / measured_s - 1; }
};

/// What was fitted to measurements of one kind.
struct CalibrationPart {
  std::string title;
  calibration::Fit fit;
  std::vector<CalibrationRow> rows;
};

struct CalibrationReport {
  std::vector<CalibrationPart> parts;
  std::vector<std::string> warnings;  ///< sentences without a full stop: what to know before the numbers are used
  std::string yaml;
};

[[nodiscard]] std::string calibration_text(const CalibrationReport& report);
[[nodiscard]] std::string calibration_json(const CalibrationReport& report);

}  // namespace lockstep::output
