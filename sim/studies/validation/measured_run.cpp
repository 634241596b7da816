#include "sim/studies/validation/measured_run.hpp"

#include <algorithm>

#include "sim/simulate.hpp"

namespace lockstep::validation {
namespace {

/// Keys below `prefix`, the first of each kept in its place.
void write_keys(const std::vector<Setting>& settings, const std::string& prefix, const std::string& indent,
                std::string& text) {
  std::vector<std::string> done;
  for (const auto& setting : settings) {
    if (!setting.key.starts_with(prefix)) continue;
    const auto rest = setting.key.substr(prefix.size());
    const auto key = rest.substr(0, rest.find('.'));
    if (std::find(done.begin(), done.end(), key) != done.end()) continue;
    done.push_back(key);
    if (key.size() == rest.size()) {
      text += indent + key + ": " + setting.value + "\n";
    } else {
      text += indent + key + ":\n";
      write_keys(settings, prefix + key + ".", indent + "  ", text);
    }
  }
}

/// Model FLOPs, with attention counted as the source counts it.
double counted_flops(const scenario::Scenario& scenario, bool whole_attention) {
  return model_flops(scenario.model, scenario.batch.sequences, scenario.batch.sequence_length,
                     scenario.training.causal_attention && !whole_attention)
      .value();
}

}  // namespace

void MeasuredRun::set(std::string_view key, std::string value, const Location& place) {
  if (value.empty()) return;
  const auto known =
      std::find_if(scenario.begin(), scenario.end(), [&](const Setting& setting) { return setting.key == key; });
  if (known != scenario.end()) {
    *known = {std::string(key), std::move(value), place};
  } else {
    scenario.push_back({std::string(key), std::move(value), place});
  }
}

std::string MeasuredRun::value_of(std::string_view key) const {
  const auto known =
      std::find_if(scenario.begin(), scenario.end(), [&](const Setting& setting) { return setting.key == key; });
  return known == scenario.end() ? "" : known->value;
}

std::string scenario_text(const MeasuredRun& run) {
  std::string text = "format: 1\n";
  write_keys(run.scenario, "", "", text);
  return text;
}

std::vector<Problem> at_their_cells(const MeasuredRun& run, std::vector<Problem> problems) {
  for (auto& problem : problems) {
    if (problem.where.file != run.table) continue;  // of a file that the scenario names
    const Setting* nearest = nullptr;
    for (const auto& setting : run.scenario) {
      const bool related = problem.key == setting.key || problem.key.starts_with(setting.key + ".") ||
                           setting.key.starts_with(problem.key + ".");
      if (related && !problem.key.empty() && setting.where.line > 0 &&
          (nearest == nullptr || setting.key.size() > nearest->key.size()))
        nearest = &setting;
    }
    problem.where = nearest != nullptr ? nearest->where : run.where;
  }
  return problems;
}

scenario::Scenario scenario_of(const MeasuredRun& run, const std::filesystem::path& folder) {
  try {
    auto scenario = scenario::scenario_of_text(scenario_text(run), run.table, folder);
    scenario.name = run.table + " " + run.name;
    return scenario;
  } catch (const ConfigError& error) {
    throw ConfigError(at_their_cells(run, error.problems()));
  }
}

Seconds measured_time(const Measurement& measurement, const scenario::Scenario& scenario) {
  const auto chips = static_cast<double>(scenario.chips());
  switch (measurement.unit) {
    case Measurement::Unit::step_seconds: break;
    case Measurement::Unit::tokens_per_second_per_chip:
      return Seconds(static_cast<double>(scenario.batch.sequences * scenario.batch.sequence_length) /
                     (measurement.value * chips));
    case Measurement::Unit::tflops_per_chip:
      return Seconds(counted_flops(scenario, measurement.whole_attention) / (measurement.value * 1e12 * chips));
    case Measurement::Unit::mfu:
      return Seconds(counted_flops(scenario, measurement.whole_attention) /
                     (measurement.value * preparation::rates_of(scenario).flops.value() * chips));
  }
  return Seconds(measurement.value);
}

}  // namespace lockstep::validation
