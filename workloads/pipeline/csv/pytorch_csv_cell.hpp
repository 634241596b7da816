#pragma once
/// One cell of a PyTorch schedule CSV; private to the importer.
#include <optional>
#include <string>
#include <string_view>

#include "workloads/pipeline/pipeline_order.hpp"

namespace lockstep::workloads {

enum class CsvOperation : std::uint8_t {
  computation,
  send_forward,
  receive_forward,
  send_backward,
  receive_backward,
  unshard,
  reshard,
  reduce_gradient,
};

/// Communication has its stage (and microbatch, if it is a transfer) in `cell.first`.
struct PytorchCell {
  CsvOperation operation = CsvOperation::computation;
  PipelineCell cell;
};

/// A mistake in a cell's text. It is cheap to make, since a file may have millions.
struct PytorchCellMistake {
  enum class Kind : std::uint8_t {
    no_stage,
    leading_zero,
    too_high,
    no_operation,
    unknown_operation,
    mixed_dialects,
    no_microbatch,
    trailing_text,
    broken_pair,
    communication_in_pair,
    group,
  };
  Kind kind;
  std::string_view part;     ///< the part of the cell at fault
  std::int64_t highest = 0;  ///< for too_high

  [[nodiscard]] std::string what() const;
  [[nodiscard]] std::string expected(bool older_dialect) const;
};

/// Reads a cell to its end. `text` without blanks around it, not empty.
[[nodiscard]] std::optional<PytorchCellMistake> read_csv_cell(std::string_view text, bool older_dialect,
                                                              PytorchCell& cell);

[[nodiscard]] std::string_view without_blanks_around(std::string_view text);
/// The text, shortened and printable, for messages.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace lockstep::workloads
