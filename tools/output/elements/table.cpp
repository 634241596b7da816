#include "tools/output/elements/table.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "sim/core/counted.hpp"
#include "sim/core/visible_text.hpp"

namespace lockstep::output {

namespace {

/// Letters of UTF-8 text.
std::size_t letters(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// The position at which a text of more letters than `widest` breaks: after a space, otherwise after a sign within a
/// word, otherwise anywhere.
std::size_t break_of(const std::string& text, std::size_t widest) {
  std::size_t end = 0, seen = 0;
  while (end < text.size() && (seen < widest || (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U) ++seen;
    ++end;
  }
  if (const auto space = text.rfind(' ', end); space != std::string::npos && text.find_first_not_of(' ') < space)
    return space + 1;
  const auto sign = text.find_last_of("-_/,+=", end - 1);
  return sign == std::string::npos || sign < end / 2 ? end : sign + 1;
}

std::vector<std::string> folded(std::string text, std::size_t widest) {
  std::vector<std::string> lines;
  const std::string hanging(text.find(". ") < 4 ? text.find(". ") + 2 : 0, ' ');  // under the text of "1. text"
  while (widest > 0 && letters(text) > widest) {
    const auto end = break_of(text, widest);
    lines.push_back(text.substr(0, end));
    text = hanging + text.substr(end);
  }
  lines.push_back(std::move(text));
  for (auto& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
}

}  // namespace

void Table::add(std::vector<std::string> row) {
  for (auto& cell : row) cell = visible(cell);
  rows_.push_back(std::move(row));
}

std::string Table::to_string(const std::string& indent) const {
  std::vector<std::vector<std::vector<std::string>>> rows;  // lines of cells
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    auto& cells = rows.emplace_back();
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) {
      cells.push_back(folded(row[i], i == 0 ? widest_first_ : widest_));
      for (const auto& line : cells.back()) widths[i] = std::max(widths[i], letters(line));
    }
  }
  std::string text;
  for (const auto& cells : rows) {
    std::size_t height = 1;
    for (const auto& cell : cells) height = std::max(height, cell.size());
    for (std::size_t at = 0; at < height; ++at) {
      std::string line = indent;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string cell = at < cells[i].size() ? cells[i][at] : "";
        const std::string space(widths[i] - letters(cell), ' ');
        line += (i == 0 ? "" : "  ") + (left_.contains(i) ? cell + space : space + cell);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
  }
  return text;
}

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string percent(double fraction) { return fixed(fraction * 100, 1) + " %"; }

std::string with_separators(double value) { return in_threes(fixed(value, 0)); }

}  // namespace lockstep::output
