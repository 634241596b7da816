#include "sim/studies/calibration/own_steps_study.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/studies/calibration/calibrate_steps.hpp"

namespace lockstep::calibration {
namespace {

using validation::RunTable;

/// The timed runs of a table by chip.
std::map<std::string, RunTable> by_chip(const RunTable& table) {
  std::map<std::string, RunTable> parts;
  for (const auto& run : table.runs) {
    const bool step = run.time_of == validation::MeasuredRun::TimeOf::step;
    if (!run.time || !step || !run.skipped_because.empty()) continue;
    const auto chip = scenario_of(run, table.folder).cluster.chip().name;
    auto& part = parts.try_emplace(chip, RunTable{table.name, {}, table.folder, table.published}).first->second;
    part.runs.push_back(run);
  }
  return parts;
}

/// Takes so many runs out of a table, from the middles of equal shares.
RunTable taken_from(RunTable& table, std::size_t count) {
  auto taken = table;
  taken.runs.clear();
  RunTable left = taken;
  const auto all = table.runs.size();
  for (std::size_t i = 0; i < all; ++i) {
    const auto share = i * count / all;
    auto& to = i == (2 * share + 1) * all / (2 * count) ? taken : left;
    to.runs.push_back(table.runs[i]);
  }
  table = std::move(left);
  return taken;
}

/// How the steps lie about their predictions and in bands.
struct Predicted {
  validation::ErrorStatistics errors;
  double held = 0, width = 0;
};

Predicted predicted(const std::vector<validation::ValidatedRun>& runs, const validation::ErrorBands& bands) {
  std::vector<double> errors;
  Predicted made;
  for (const auto& run : runs) {
    const auto band = run.counts() ? bands.of(run.traits) : std::nullopt;
    if (!band) continue;
    errors.push_back(run.error());
    const double ratio = run.measured_s / run.predicted_s;
    made.held += band->low <= ratio && ratio <= band->high ? 1 : 0;
    made.width += band->high / band->low - 1;
  }
  const auto count = static_cast<double>(std::max<std::size_t>(errors.size(), 1));
  made.held /= count;
  made.width /= count;
  made.errors = validation::statistics_of(std::move(errors));
  return made;
}

}  // namespace

std::vector<OwnSteps> own_steps_study(const std::vector<RunTable>& tables, std::size_t given, std::size_t most,
                                      validation::ValidateOptions options, spdlog::logger& log) {
  options.model_of_time = "calibrated";
  const auto families = catalog_families();
  std::vector<OwnSteps> studied;
  for (const auto& table : tables) {
    auto others = families;
    std::erase_if(others, [&](const auto& family) { return family.table == table.name; });
    if (others.empty()) continue;
    const validation::ErrorBands before(others);
    const auto after = validation::bands_after_own_steps(others, static_cast<int>(given));
    for (auto& [chip, part] : by_chip(table)) {
      if (part.runs.size() < given + least_others) continue;
      const auto own = taken_from(part, given);
      const auto held = sample_of(part, most);
      auto start = scenario_of(own.runs.front(), own.folder).cluster.chip();
      if (!start.kernels) continue;
      const auto made = calibrate_steps(start, {own}, step_prior(others, {own}), options, log);
      OwnSteps row;
      row.machine = table.name + ", " + chip;
      row.given = given;
      row.predicted = held.runs.size();
      const auto& parameters = made.fit.parameters;
      row.sustained = parameters[0].after / parameters[0].before;
      row.host = parameters[1].before > 0 ? parameters[1].after / parameters[1].before : 1;
      auto moved = options;
      moved.adjust = with_factors(options.adjust, row.sustained, row.host);
      const auto was = predicted(validate({held}, options, log), before);
      const auto is = predicted(validate({held}, moved, log), after);
      row.before = was.errors, row.after = is.errors;
      row.held_before = was.held, row.held_after = is.held;
      row.width_before = was.width, row.width_after = is.width;
      studied.push_back(std::move(row));
    }
  }
  return studied;
}

}  // namespace lockstep::calibration
