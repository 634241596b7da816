#pragma once
/// Tables of measurements by the names and files that commands are given.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/studies/validation/measured_collectives.hpp"
#include "sim/studies/validation/published_tables.hpp"
#include "sim/studies/validation/validate.hpp"

namespace lockstep::commands {

/// Steps, single kernels (has_product_columns, has_attention_columns) or collectives (has_collective_columns).
struct MeasuredTable {
  validation::RunTable steps;
  std::unique_ptr<const CsvTable> kernels{};
  std::vector<validation::MeasuredCollective> collectives{};
  bool is_of_collectives = false;
};

/// A CSV of measurements. One that has a header alone is a problem: it has no rows.
[[nodiscard]] std::unique_ptr<const CsvTable> read_measured_csv(const std::filesystem::path& file, Problems& problems);

struct MeasuredFiles {
  std::vector<std::filesystem::path> tables;
  std::vector<std::filesystem::path> left_out;  ///< of the folder: CSV files that are no table of measurements
};

/// Files (with .csv or a slash) and tables of `folder` (the shipped ones if empty) by their names; all of the folder's
/// without any, those with a column missing too, so that reading them tells which. Refuses names that are no table, and
/// those that the folder has no file of.
[[nodiscard]] MeasuredFiles measured_files(const std::vector<std::string>& named, const std::filesystem::path& folder);

/// Kernels and collectives by their columns; else a published table by its file's name, else runs in this program's own
/// format. `problems` must outlive the table.
[[nodiscard]] MeasuredTable read_measured_table(const std::filesystem::path& file, Problems& problems);

}  // namespace lockstep::commands
