#pragma once
/// Published tables of measured steps, and the rule that turns each row into a run.
#include <string>
#include <string_view>
#include <vector>

#include "sim/studies/validation/measured_run.hpp"

namespace lockstep::validation {

struct PublishedTable {
  std::string_view name;                  ///< its file's stem
  std::string_view about;                 ///< what was measured
  std::vector<std::string_view> assumed;  ///< what the source leaves open; one sentence each
  std::vector<std::string> columns;       ///< that the rule cannot do without
  void (*convert)(const CsvRow&, MeasuredRun&);
};

/// All of them, in the order of the report.
[[nodiscard]] const std::vector<PublishedTable>& published_tables();
[[nodiscard]] const PublishedTable* find_published_table(std::string_view name);
/// One run for each row, skipped ones too. A cell that cannot be read skips its row, which says where it is, and is a
/// problem of the table unless it is blank; the other rows stay.
[[nodiscard]] std::vector<MeasuredRun> read_published_runs(const PublishedTable& published, const CsvTable& table);

}  // namespace lockstep::validation
