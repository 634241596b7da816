#include "sim/studies/calibration/calibrate_steps.hpp"

#include <cmath>

namespace lockstep::calibration {
namespace {

constexpr int most_evaluations = 60;

void check_chips(const topologies::Chip& chip, const std::vector<validation::RunTable>& tables) {
  Problems problems;
  for (const auto& table : tables) {
    for (const auto& run : table.runs) {
      if (!run.skipped_because.empty()) continue;
      const auto used = scenario_of(run, table.folder).cluster.chip().name;
      if (used != chip.name)
        problems.add(
            {run.where, "cluster", "runs on " + used, "steps of " + chip.name + ", the chip that is calibrated"});
    }
  }
  problems.throw_if_any();
}

}  // namespace

StepCalibration calibrate_steps(const topologies::Chip& chip, const std::vector<validation::RunTable>& tables,
                                validation::ValidateOptions options, spdlog::logger& log) {
  check_chips(chip, tables);
  options.model_of_time = "calibrated";
  const auto kernels_with = [&](const std::vector<double>& values) {
    auto kernels = *chip.kernels;
    kernels.sustained = values[0];
    kernels.host = Seconds(values[1] * 1e-6);
    return kernels;
  };
  const auto simulated = [&](const std::vector<double>& values) {
    auto with = options;
    with.adjust = [kernels = kernels_with(values)](scenario::Scenario& scenario) {
      scenario.cluster.chip().kernels = kernels;
    };
    return validate(tables, with, log);
  };
  const auto errors = [&](const std::vector<double>& values) {
    std::vector<double> logs;
    for (const auto& run : simulated(values)) {
      if (run.counts()) logs.push_back(std::log(run.predicted_s / run.measured_s));
    }
    return logs;
  };
  StepCalibration calibration;
  calibration.fit =
      fit({{"sustained", chip.kernels->sustained, 0.1, 1}, {"host", chip.kernels->host.value() * 1e6, 0, 500}}, errors,
          most_evaluations);
  std::vector<double> values;
  for (const auto& parameter : calibration.fit.parameters) values.push_back(parameter.after);
  calibration.kernels = kernels_with(values);
  calibration.residuals = simulated(values);
  return calibration;
}

}  // namespace lockstep::calibration
