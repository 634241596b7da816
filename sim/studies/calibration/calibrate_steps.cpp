#include "sim/studies/calibration/calibrate_steps.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lockstep::calibration {
namespace {

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

std::vector<validation::ValidatedFamily> catalog_families() {
  const auto file = scenario::data_root() / "topologies/catalog/validated.csv";
  return std::filesystem::exists(file) ? validation::read_families(file) : std::vector<validation::ValidatedFamily>{};
}

StepPrior step_prior(const std::vector<validation::ValidatedFamily>& families,
                     const std::vector<validation::RunTable>& tables) {
  StepPrior prior;
  for (const auto& table : tables) {
    for (const auto& run : table.runs) {
      if (!run.skipped_because.empty() || !run.time) continue;
      const auto scatter =
          validation::ErrorBands(families).scatter(validation::traits_of(scenario_of(run, table.folder), 0));
      if (!scatter) return prior;
      return {scatter->step, scatter->machine, prior.host, scatter->pool};
    }
  }
  return prior;
}

std::function<void(scenario::Scenario&)> with_factors(std::function<void(scenario::Scenario&)> before, double sustained,
                                                      double host) {
  return [before = std::move(before), sustained, host](scenario::Scenario& scenario) {
    if (before) before(scenario);
    auto& kernels = scenario.cluster.chip().kernels;
    if (!kernels) return;
    kernels->sustained *= sustained;
    kernels->host = kernels->host * host;
  };
}

StepCalibration calibrate_steps(const topologies::Chip& chip, const std::vector<validation::RunTable>& tables,
                                const StepPrior& prior, validation::ValidateOptions options, spdlog::logger& log) {
  constexpr double least_sustained = 0.1, least_host = 1, most_host = 500;  // microseconds
  check_chips(chip, tables);
  options.model_of_time = "calibrated";
  const auto& start = *chip.kernels;
  const double host = start.host.value() * 1e6;
  const auto simulated = [&](const std::vector<double>& values) {
    auto with = options;
    with.adjust = with_factors(options.adjust, values[0] / start.sustained, host > 0 ? values[1] / host : 1);
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
  calibration.fit = fit_from_prior(
      {{"sustained", start.sustained, least_sustained, 1, prior.sustained},
       {"host", host, least_host, most_host, prior.host, host > least_host ? "" : "the host's time is none"}},
      errors, prior.step);
  std::vector<double> values;
  for (const auto& parameter : calibration.fit.parameters) values.push_back(parameter.after);
  calibration.kernels = start;
  calibration.kernels.sustained = values[0];
  calibration.kernels.host = Seconds(values[1] * 1e-6);
  calibration.residuals = simulated(values);
  calibration.kernels.own_steps = static_cast<int>(std::count_if(
      calibration.residuals.begin(), calibration.residuals.end(), [](const auto& r) { return r.counts(); }));
  return calibration;
}

}  // namespace lockstep::calibration
