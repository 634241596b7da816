#pragma once
/// A measured training step and the scenario that says how it ran. Every table of measurements becomes a list of these;
/// docs/validation.md has the CSV format that users write.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/csv_table.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::validation {

/// One key of a scenario ("batch.sequences"), its value as YAML, and the cell that it comes from.
struct Setting {
  std::string key, value;
  Location where;
};

/// A measured value, in the unit in which it was published.
struct Measurement {
  enum class Unit {
    step_seconds,
    tokens_per_second_per_chip,
    tflops_per_chip,  ///< of model FLOPs
    mfu               ///< fraction of the chip's peak at the step's precision
  };
  double value = 0;
  Unit unit = Unit::step_seconds;
  bool whole_attention =
      false;  ///< the FLOPs of tflops_per_chip and mfu count all pairs of tokens, though half are masked
};

struct MeasuredRun {
  /// Whether the measured time is that of a step, or of one more microbatch of a step (one forward and backward, no
  /// update).
  enum class TimeOf { step, microbatch };

  std::string table;   ///< "vtrain_multi", a file's stem
  int row = 0;         ///< of the table's rows, from 1
  std::string name;    ///< "line 12"
  std::string family;  ///< runs of one model on one chip at one precision: those whose order matters to a planner
  Location where;
  std::vector<Setting> scenario;
  TimeOf time_of = TimeOf::step;
  std::optional<Measurement> time;
  std::optional<double> peak_bytes;  ///< of the chip that held most
  bool peak_is_reserved = false;     ///< by PyTorch's allocator, not what arrays took of it
  bool peak_of_last_stage = false;   ///< of a rank of the pipeline's last stage, not of the fullest
  std::string source, note;
  std::string skipped_because;  ///< not empty: this version cannot express the run

  /// Replaces or adds a key. Empty values add nothing.
  void set(std::string_view key, std::string value, const Location& place = {});
  void set(std::string_view key, std::int64_t value, const Location& place = {}) {
    set(key, std::to_string(value), place);
  }
  [[nodiscard]] std::string value_of(std::string_view key) const;  ///< "" if it is not set
};

/// The scenario as a YAML file.
[[nodiscard]] std::string scenario_text(const MeasuredRun& run);
/// The scenario, with files seen from `folder`; its problems are reported at the cells that caused them. Throws
/// ConfigError.
[[nodiscard]] scenario::Scenario scenario_of(const MeasuredRun& run, const std::filesystem::path& folder);
/// Problems of the scenario's text, put at the cells that caused them.
[[nodiscard]] std::vector<Problem> at_their_cells(const MeasuredRun& run, std::vector<Problem> problems);

/// The time that was measured. tokens/s per chip: sequences T / (value chips). TFLOP/s per chip: model FLOPs / (value
/// chips), model FLOPs = 3 forward; MFU likewise with the chip's peak.
[[nodiscard]] Seconds measured_time(const Measurement& measurement, const scenario::Scenario& scenario);

/// Runs of a CSV with this program's own columns.
[[nodiscard]] std::vector<MeasuredRun> read_measured_runs(const CsvTable& table, const std::string& name);
/// Columns of that format, in the order of the documentation: name and what it means.
struct MeasuredColumn {
  std::string_view name, key, meaning;  ///< key: the scenario's key; "" for a column that is not part of the scenario
};
[[nodiscard]] const std::vector<MeasuredColumn>& measured_columns();
/// Whether a table has that format.
[[nodiscard]] bool has_measured_columns(const CsvTable& table);
/// Whether a table that may lack a column was meant to have that format: it has one of what was measured, or cluster
/// beside sequences or sequence_length.
[[nodiscard]] bool resembles_measured_columns(const CsvTable& table);

}  // namespace lockstep::validation
