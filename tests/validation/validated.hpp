#pragma once
/// Scenarios of this repository and of tests/data/scenarios, simulated with contention.
#include <spdlog/logger.h>

#include <filesystem>
#include <string>
#include <vector>

#include "sim/studies/isolated.hpp"
#include "tests/source_dir.hpp"

namespace lockstep::test {

/// The overrides after one that takes the rates of the data sheet, at which closed forms and books give their numbers.
inline std::vector<scenario::KeyOverride> at_peak_rates(std::vector<scenario::KeyOverride> overrides) {
  overrides.insert(overrides.begin(), {"model_of_time", "ideal"});
  return overrides;
}

inline scenario::Scenario shipped(const std::string& file, const std::vector<scenario::KeyOverride>& overrides = {}) {
  return load_scenario(std::filesystem::path(source_dir) / "scenarios" / file, at_peak_rates(overrides));
}

inline scenario::Scenario validation(const std::string& file,
                                     const std::vector<scenario::KeyOverride>& overrides = {}) {
  return load_scenario(std::filesystem::path(source_dir) / "tests/data/scenarios" / file, overrides);
}

inline studies::Outcome contended(const scenario::Scenario& scenario) {
  spdlog::logger silent("test");
  return studies::simulate_isolated(scenario, engine::EngineKind::simgrid, silent);
}

}  // namespace lockstep::test
