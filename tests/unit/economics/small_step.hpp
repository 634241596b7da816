#pragma once
/// Small steps to be priced.
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <filesystem>

#include "sim/simulate.hpp"
#include "sim/studies/economics/price_list.hpp"
#include "tests/source_dir.hpp"

namespace lockstep::test {

inline std::filesystem::path tree() { return source_dir; }

inline scenario::Scenario scenario_of(const std::string& file, const std::vector<scenario::KeyOverride>& keys = {}) {
  return load_scenario(tree() / file, keys);
}

/// By the max-min engine, of which there may be several in a process.
inline Simulation simulated(const scenario::Scenario& scenario, bool folded = true) {
  static auto silent = std::make_shared<spdlog::logger>("silent", std::make_shared<spdlog::sinks::null_sink_mt>());
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  options.fold = folded;
  return simulate(scenario, options, *silent);
}

inline economics::PriceList round_prices() {
  return economics::read_price_list(tree() / "tests/data/prices/round.yaml");
}

inline const std::string small = "tests/data/scenarios/small.yaml";

}  // namespace lockstep::test
