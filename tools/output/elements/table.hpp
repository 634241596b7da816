#pragma once
/// Text tables for the terminal: the first column left, the others right aligned unless said.
#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace lockstep::output {

class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  /// Cells are shown within their line, whatever they hold.
  void add(std::vector<std::string> row);
  void align_left(std::size_t column) { left_.insert(column); }
  /// Longer cells go on in the next line: so many letters in the first column, so many in the others (0: any number).
  void fold(std::size_t first, std::size_t others) { widest_first_ = first, widest_ = others; }
  [[nodiscard]] std::string to_string(const std::string& indent = "") const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::set<std::size_t> left_ = {0};
  std::size_t widest_first_ = 0, widest_ = 0;
};

[[nodiscard]] std::string percent(double fraction);         ///< "61.2 %"
[[nodiscard]] std::string fixed(double value, int digits);  ///< "3.14"
[[nodiscard]] std::string with_separators(double value);    ///< "1,234,567"

}  // namespace lockstep::output
