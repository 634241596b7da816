#pragma once
/// The cells of a schedule's CSV, whose fields hold no quotes, and back.
#include <string>
#include <utility>
#include <vector>

namespace lockstep::test {

using CsvRows = std::vector<std::vector<std::string>>;

inline CsvRows cells_of_csv(const std::string& text) {
  CsvRows rows(1);
  std::string cell;
  for (const char c : text) {
    if (c != ',' && c != '\n') {
      cell += c;
      continue;
    }
    rows.back().push_back(std::move(cell));
    cell.clear();
    if (c == '\n') rows.emplace_back();
  }
  rows.pop_back();
  return rows;
}

inline std::string csv_of_cells(const CsvRows& rows) {
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : ",") + row[i];
    text += "\n";
  }
  return text;
}

}  // namespace lockstep::test
