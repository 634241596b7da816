#pragma once
/// Text tables for the terminal: the first column left, the others right aligned.
#include <string>
#include <vector>

namespace lockstep {

class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string to_string(const std::string& indent = "") const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

[[nodiscard]] std::string percent(double fraction);                 ///< "61.2 %"
[[nodiscard]] std::string fixed(double value, int digits);          ///< "3.14"
[[nodiscard]] std::string with_separators(double value);            ///< "1,234,567"

}  // namespace lockstep
