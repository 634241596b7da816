#include <algorithm>
#include <utility>

#include "workloads/pipeline/csv/pytorch_csv.hpp"
#include "workloads/pipeline/csv/pytorch_csv_cell.hpp"
#include "workloads/pipeline/csv/pytorch_csv_communication.hpp"
#include "workloads/pipeline/problem_list.hpp"
#include "workloads/pipeline/schedule_limits_private.hpp"

namespace lockstep::workloads {
namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20;  // ten million actions; keeps what is held below a gigabyte
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// Up to the separator or the end; both are taken off `rest`.
std::string_view take_until(char separator, std::string_view& rest) {
  const auto end = std::min(rest.find(separator), rest.size());
  const auto taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
}

class Importer {
 public:
  Importer(std::string_view text, StagePlacement placement) : text_(text) {
    result_.order.shape.placement = placement;
    if (text_.starts_with(byte_order_mark)) text_.remove_prefix(byte_order_mark.size());
  }

  ImportedOrder run() {
    if (text_.size() > most_bytes) {
      add(-1, -1, "the file has " + std::to_string(text_.size()) + " bytes", "at most " + std::to_string(most_bytes));
      return finish();
    }
    // No other operation has a W or an I in its name.
    result_.older_dialect = text_.find("BW") != std::string_view::npos ||
                            (text_.find('W') != std::string_view::npos && text_.find('I') == std::string_view::npos);
    read_rows();
    if (problems_.empty()) derive_shape();
    if (problems_.empty()) {
      auto found = verify_order(result_.order);
      for (auto& problem : found) problem.index = column_of(problem);
      if (found.empty() && result_.had_communication) found = verify_communication(result_.order, rows_);
      for (auto& problem : found)
        result_.problems.push_back(
            located(problem.rank, problem.index, std::move(problem.what), std::move(problem.expected)));
    }
    return finish();
  }

 private:
  ImportedOrder finish() {
    if (!problems_.empty()) result_.problems = problems_.take();
    return std::move(result_);
  }

  void read_rows() {
    auto rest = text_.substr(0, text_.find_last_not_of("\r\n") + 1);
    while (!rest.empty()) {
      if (std::ssize(rows_) == most_pipeline_ranks) {
        add(static_cast<std::int32_t>(most_pipeline_ranks), -1, "the file has more rows",
            "at most " + std::to_string(most_pipeline_ranks) + " ranks");
        return;
      }
      auto line = take_until('\n', rest);
      if (line.ends_with('\r')) line.remove_suffix(1);
      lines_.push_back(line);
      rows_.emplace_back();
      result_.order.ranks.emplace_back();
      read_row(line);
    }
  }

  void read_row(std::string_view rest) {
    for (std::int32_t column = 0; !rest.empty(); ++column) {
      const auto text = without_blanks_around(take_until(',', rest));
      if (text.empty()) continue;
      PytorchCell cell;
      if (const auto mistake = read_csv_cell(text, result_.older_dialect, cell)) {
        problems_.add(
            [&] { return located(last_row(), column, mistake->what(), mistake->expected(result_.older_dialect)); });
        continue;
      }
      if (cell.operation == CsvOperation::computation)
        take(cell.cell, column);
      else
        take(cell, column);
    }
  }

  [[nodiscard]] std::int32_t last_row() const { return static_cast<std::int32_t>(rows_.size()) - 1; }

  void take(const PipelineCell& cell, std::int32_t column) {
    result_.order.ranks.back().push_back(cell);
    rows_.back().columns.push_back(column);
    for_each_action(cell, [&](const PipelineAction& action) {
      result_.order.shape.microbatches = std::max(result_.order.shape.microbatches, action.microbatch + 1);
      if (action.stage <= highest_.stage) return;
      highest_ = {action.stage, last_row(), column};
    });
  }

  void take(const PytorchCell& cell, std::int32_t column) {
    result_.had_communication = true;
    const auto next = static_cast<std::int32_t>(rows_.back().columns.size());
    rows_.back().communication.push_back(
        {cell.operation, cell.cell.first.stage, cell.cell.first.microbatch, next, column});
  }

  void derive_shape() {
    if (highest_.stage < 0) {
      add(-1, -1, "the file has no forward or backward", "one line per rank, cells as in 0F0");
      return;
    }
    auto& shape = result_.order.shape;
    shape.ranks = static_cast<std::int32_t>(rows_.size());
    const auto stages = highest_.stage + 1;
    const auto wrong = [&](const std::string& expected) {
      add(highest_.row, highest_.column,
          "virtual stage " + std::to_string(highest_.stage) + " makes " + std::to_string(stages) +
              " virtual stages on the " + std::to_string(shape.ranks) + " ranks of the file",
          expected);
    };
    const auto runs =
        shape.placement == StagePlacement::linear || shape.placement == StagePlacement::bidirectional ? 1 : 2;
    const auto fixed = shape.placement == StagePlacement::v || runs == 1;
    if (fixed && stages != std::int64_t{shape.ranks} * runs) {
      wrong(std::to_string(shape.ranks * runs) + " virtual stages with placement " +
            std::string(name(shape.placement)));
    } else if (stages % shape.ranks != 0) {
      wrong("a multiple of " + std::to_string(shape.ranks) + " virtual stages");
    }
    shape.chunks = std::max(stages / shape.ranks, 1);
  }

  [[nodiscard]] std::int32_t column_of(const OrderProblem& problem) const {
    if (problem.rank < 0 || problem.index < 0) return -1;
    return rows_[problem.rank].columns[problem.index];
  }

  void add(std::int32_t row, std::int32_t column, std::string what, std::string expected) {
    problems_.add([&] { return located(row, column, std::move(what), std::move(expected)); });
  }

  [[nodiscard]] CsvProblem located(std::int32_t row, std::int32_t column, std::string what,
                                   std::string expected) const {
    std::string_view cell;
    if (row >= 0 && column >= 0) {
      auto rest = lines_[row];
      for (std::int32_t i = 0; i <= column; ++i) cell = take_until(',', rest);
    }
    return {row, column, printable(without_blanks_around(cell)), std::move(what), std::move(expected)};
  }

  struct Highest {
    std::int32_t stage = -1, row = -1, column = -1;
  };

  std::string_view text_;
  Indexed<std::int32_t, std::string_view> lines_;
  PytorchRows rows_;
  Highest highest_;
  ProblemList<CsvProblem> problems_;
  ImportedOrder result_;
};

}  // namespace

ImportedOrder import_pytorch_csv(std::string_view text, StagePlacement placement) {
  return Importer(text, placement).run();
}

}  // namespace lockstep::workloads
