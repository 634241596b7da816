#pragma once
/// A CSV file with a header (RFC 4180: quoted cells, doubled quotes), read as strictly as YAML is: every problem has
/// its line and column, and one reading finds all of them.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.hpp"

namespace lockstep {

struct CsvCell {
  std::string text;  ///< without quotes and without white space around it
  Location where;
};

class CsvTable;

/// One line below the header. Getters report what is wrong with a cell to the table's sink and go on with a fallback.
class CsvRow {
 public:
  [[nodiscard]] Location where() const { return cells_.front().where; }
  [[nodiscard]] int line() const { return cells_.front().where.line; }
  /// The cell; "" where the table has no such column.
  [[nodiscard]] std::string text(std::string_view column) const;
  [[nodiscard]] Location where(std::string_view column) const;  ///< the row's own place without such a column
  /// An integer of at least 1; an empty cell gives the fallback, and is a problem without one.
  [[nodiscard]] std::int64_t integer(std::string_view column,
                                     std::optional<std::int64_t> fallback = std::nullopt) const;
  /// A finite number above 0; none for an empty cell.
  [[nodiscard]] std::optional<double> number(std::string_view column) const;
  void problem(std::string_view column, std::string what, std::string expected) const;
  /// The same row, read as people write tables: "8.0", "1,024" and "8 (default)" are counts, and "n/a", "nan" or "-" in
  /// place of a number is an empty cell. Its problems go to another sink than the table's.
  [[nodiscard]] CsvRow read_loosely(Problems& sink) const;

 private:
  friend class CsvTable;
  CsvRow(const CsvTable& table, Problems& sink, std::vector<CsvCell> cells)
      : table_(&table), sink_(&sink), cells_(std::move(cells)) {}
  [[nodiscard]] std::string number_text(std::string_view column) const;
  const CsvTable* table_;
  Problems* sink_;
  bool loose_ = false;
  std::vector<CsvCell> cells_;
};

class CsvTable {
 public:
  /// Reads a file. A missing or empty file, unequal rows, open quotes, and columns of one name whose cells differ are
  /// problems.
  CsvTable(const std::filesystem::path& file, Problems& problems);
  CsvTable(std::string_view text, std::string_view name, Problems& problems);
  CsvTable(const CsvTable&) = delete;
  CsvTable& operator=(const CsvTable&) = delete;

  [[nodiscard]] const std::vector<CsvCell>& header() const { return header_; }
  [[nodiscard]] bool has(std::string_view column) const { return columns_.contains(column); }
  [[nodiscard]] const std::vector<CsvRow>& rows() const { return rows_; }
  void problem(std::string_view column, std::string what, std::string expected) const;  ///< in the header
  /// A problem for every one of the columns that the table lacks; whether it has them all.
  bool require(const std::vector<std::string>& columns) const;

 private:
  friend class CsvRow;
  void read(std::string_view text, std::string_view name);
  void refuse_unequal_twins();

  Problems& problems_;
  std::string name_;
  std::vector<CsvCell> header_;
  std::map<std::string, std::size_t, std::less<>> columns_;
  std::vector<CsvRow> rows_;
};

}  // namespace lockstep
