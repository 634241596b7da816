#pragma once
/// Runs and scenarios of the rows of tests/validation/data.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/studies/validation/published_tables.hpp"
#include "tests/source_dir.hpp"

namespace lockstep {

inline std::vector<validation::MeasuredRun> runs_of(const std::string& name) {
  Problems problems;
  const CsvTable table(std::filesystem::path(source_dir) / "tests/validation/data" / (name + ".csv"), problems);
  auto runs = read_published_runs(*validation::find_published_table(name), table);
  for (const auto& problem : problems.list()) ADD_FAILURE() << problem.to_string();
  EXPECT_EQ(runs.size(), table.rows().size());
  return runs;
}

/// The first run whose family contains the text.
inline scenario::Scenario first(const std::vector<validation::MeasuredRun>& runs, const std::string& family) {
  for (const auto& run : runs) {
    if (run.family.find(family) != std::string::npos) return scenario_of(run, ".");
  }
  throw std::runtime_error("no family " + family);
}

inline int axis(const scenario::Scenario& scenario, const std::string& name) {
  for (const auto& request : scenario.mesh) {
    if (request.name == name) return request.size;
  }
  return 1;
}

}  // namespace lockstep
