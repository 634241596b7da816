#pragma once
/// Text tables for the terminal: the first column left, the others right aligned unless said.
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "tools/output/elements/terminal.hpp"

namespace lockstep::output {

class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  /// Cells are shown within their line, whatever they hold.
  void add(std::vector<std::string> row);
  void align_left(std::size_t column) { left_.insert(column); }
  /// On a terminal, longer cells go on in the next line: so many letters in the first column, so many in the others (0:
  /// any number). Elsewhere a row is a line.
  void fold(std::size_t first, std::size_t others) { widest_first_ = first, widest_ = others; }
  /// No line is wider than `width` (0: any), if a column and the first fit: first words of the header go below each
  /// other, then cells of words, the widest first; then the table goes on below with the columns that are left and the
  /// first column again.
  [[nodiscard]] std::string to_string(const std::string& indent = "", std::size_t width = text_width()) const;

 private:
  using Widths = std::vector<std::size_t>;
  [[nodiscard]] std::size_t columns() const;
  [[nodiscard]] const std::string& cell(std::size_t row, std::size_t column) const;
  [[nodiscard]] Widths widths_of(const Widths& most) const;  ///< of cells folded to these (0: any)
  [[nodiscard]] Widths fitting_widths(std::size_t room) const;
  /// These columns, cells folded to their widths.
  [[nodiscard]] std::string block(const std::string& indent, const std::vector<std::size_t>& shown,
                                  const Widths& widths) const;

  std::vector<std::vector<std::string>> rows_;
  std::set<std::size_t> left_ = {0};
  std::size_t widest_first_ = 0, widest_ = 0;
};

[[nodiscard]] std::string percent(double fraction);         ///< "61.2 %"
[[nodiscard]] std::string signed_percent(double fraction);  ///< "+61.2 %"
[[nodiscard]] std::string fixed(double value, int digits);  ///< "3.14"
[[nodiscard]] std::string with_separators(double value);    ///< "1,234,567"

}  // namespace lockstep::output
