#pragma once
/// Rows of published rates of single kernels as validated runs.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/studies/validation/validate.hpp"

namespace lockstep::calibration {

/// One run for each row, of the family "chip, `family_column`". `predict(row, chip, precision, run)` sets the measured
/// and the predicted time, or says why it skips the row; rows whose chip or precision is unknown are skipped before.
template <class Predict>
std::vector<validation::ValidatedRun> validate_kernel_rows(const CsvTable& table, const std::string& name,
                                                           std::string_view family_column, Predict predict) {
  std::vector<validation::ValidatedRun> validated;
  for (const auto& row : table.rows()) {
    validation::ValidatedRun entry;
    entry.run.table = name;
    entry.run.row = static_cast<int>(validated.size()) + 1;
    entry.run.name = "line " + std::to_string(row.line());
    entry.run.where = row.where();
    entry.run.source = row.text("source");
    entry.run.family = row.text("chip") + ", " + row.text(family_column);
    Problems problems;
    auto chip = topologies::load_chip(scenario::data_root() / "topologies/catalog", row.text("chip"), problems);
    const auto precision = topologies::precision_named(row.text("precision"));
    if (!problems.empty() || !precision) {
      entry.run.skipped_because = "the catalog has no " + entry.run.family;
    } else {
      predict(row, std::move(chip), *precision, entry);
    }
    validated.push_back(std::move(entry));
  }
  return validated;
}

}  // namespace lockstep::calibration
