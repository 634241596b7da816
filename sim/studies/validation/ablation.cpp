#include "sim/studies/validation/ablation.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep::validation {
namespace {

bool is_timed(const MeasuredRun& run) { return run.time && run.skipped_because.empty(); }

/// The runs that have the effect.
std::vector<RunTable> having(const std::vector<RunTable>& tables, const Effect& effect,
                             const std::string& model_of_time) {
  std::vector<RunTable> had;
  for (const auto& table : tables) {
    auto part = table;
    std::erase_if(part.runs, [&](MeasuredRun run) {
      if (!is_timed(run)) return true;
      run.set("model_of_time", model_of_time);
      auto scenario = scenario_of(run, table.folder);
      return !effect.without(scenario);
    });
    if (!part.runs.empty()) had.push_back(std::move(part));
  }
  return had;
}

}  // namespace

std::vector<Ablated> ablate(const std::vector<RunTable>& tables, ValidateOptions options, spdlog::logger& log) {
  options.model_of_time = "calibrated";
  std::map<std::pair<std::string, int>, double> with;  // errors by table and row
  for (const auto& run : validate(tables, options, log)) {
    if (run.counts()) with[{run.run.table, run.run.row}] = run.error();
  }
  std::vector<Ablated> ablated;
  for (const auto& effect : model_effects()) {
    auto without = options;
    without.adjust = [&effect](scenario::Scenario& scenario) { (void)effect.without(scenario); };
    std::map<std::pair<std::string, int>, double> changed;
    for (const auto& run : validate(having(tables, effect, options.model_of_time), without, log)) {
      if (run.counts()) changed[{run.run.table, run.run.row}] = run.error();
    }
    for (const auto& table : tables) {
      Ablated row{effect.name, table.name, 0, 0, {}, {}};
      std::vector<double> errors, errors_without;
      for (const auto& run : table.runs) {
        const auto key = std::pair{table.name, run.row};
        const auto known = with.find(key);
        if (known == with.end()) continue;
        const auto found = changed.find(key);
        if (found != changed.end()) ++row.touched;
        errors.push_back(known->second);
        errors_without.push_back(found != changed.end() ? found->second : known->second);
      }
      if (row.touched == 0) continue;
      row.rows = errors.size();
      row.with = statistics_of(std::move(errors));
      row.without = statistics_of(std::move(errors_without));
      ablated.push_back(std::move(row));
    }
  }
  return ablated;
}

}  // namespace lockstep::validation
