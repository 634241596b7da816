#include "tools/output/table.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace lockstep {

std::string Table::to_string(const std::string& indent) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line = indent;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      line += i == 0 ? row[i] + space : "  " + space + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string percent(double fraction) { return fixed(fraction * 100, 1) + " %"; }

std::string with_separators(double value) {
  auto text = fixed(value, 0);
  for (auto at = static_cast<int>(text.size()) - 3; at > (text[0] == '-' ? 1 : 0); at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

}  // namespace lockstep
