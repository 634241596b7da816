#pragma once
/// Rows of published rates of single kernels as validated runs.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/known_word.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/studies/validation/validate.hpp"

namespace lockstep::calibration {

inline constexpr std::int64_t largest_size = 10'000'000;

/// A size of a kernel.
[[nodiscard]] inline std::int64_t kernel_size(const CsvRow& row, std::string_view column,
                                              std::optional<std::int64_t> fallback = std::nullopt) {
  const auto value = row.integer(column, fallback);
  if (value <= largest_size) return value;
  row.problem(column, "'" + row.text(column) + "' is too large", "at most " + std::to_string(largest_size));
  return 1;
}

/// The column tflops; 1 where it says no rate, which is told.
[[nodiscard]] inline double kernel_rate(const CsvRow& row) {
  constexpr double least = 1e-6, most = 1e9;
  const auto rate = row.number("tflops");
  if (row.text("tflops").empty()) row.problem("tflops", "is empty", "the measured rate in TFLOP/s");
  if (rate && (*rate < least || *rate > most))
    row.problem("tflops", "'" + row.text("tflops") + "' is not the rate of a chip", "TFLOP/s");
  return rate.value_or(1);
}

/// One run for each row, of the family "chip, `family_column`". `predict(row, chip, precision, run)` sets the measured
/// and the predicted time, or says why it skips the row; what is wrong with a row goes to the table's problems.
template <class Predict>
std::vector<validation::ValidatedRun> validate_kernel_rows(const CsvTable& table, const std::string& name,
                                                           std::string_view family_column, Predict predict) {
  const auto catalog = scenario::data_root() / "topologies/catalog";
  const auto chips = topologies::chip_names(catalog);
  std::vector<validation::ValidatedRun> validated;
  for (const auto& row : table.rows()) {
    validation::ValidatedRun entry;
    entry.run.table = name;
    entry.run.row = static_cast<int>(validated.size()) + 1;
    entry.run.name = "line " + std::to_string(row.line());
    entry.run.where = row.where();
    entry.run.source = row.text("source");
    entry.run.family = row.text("chip") + ", " + row.text(family_column);
    const auto named = known_word(row.text("chip"), chips);
    if (named.empty()) {
      const auto near = did_you_mean(row.text("chip"), chips);
      row.problem("chip", "chip '" + row.text("chip") + "' is not in the catalog",
                  near.empty() ? "a name such as h100" : near);
    }
    const auto precision = topologies::precision_named(row.text("precision"));
    if (!precision) {
      row.problem("precision", "unknown precision '" + row.text("precision") + "'",
                  "one of fp32, bf16, fp16, fp8, int8, fp4");
    }
    Problems problems;
    auto chip = topologies::load_chip(catalog, named.empty() ? "h100" : named, problems);
    problems.throw_if_any();
    predict(row, std::move(chip), precision.value_or(topologies::Precision::bf16), entry);
    validated.push_back(std::move(entry));
  }
  return validated;
}

}  // namespace lockstep::calibration
