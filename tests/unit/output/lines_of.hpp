#pragma once
/// Text as a terminal shows it: lines, and how wide they are.
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace lockstep::test {

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Letters of UTF-8 text: bytes that do not go on with an earlier one.
inline std::size_t letters_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xC0U) != 0x80U; }));
}

inline std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (const auto& line : lines_of(text)) widest = std::max(widest, letters_of(line));
  return widest;
}

/// The first line that begins so, "" if there is none.
inline std::string line_with(const std::string& text, const std::string& beginning) {
  for (const auto& line : lines_of(text)) {
    if (line.starts_with(beginning)) return line;
  }
  return "";
}

/// The words of a line that at least two spaces part: the cells of a table's row.
inline std::vector<std::string> cells_of_line(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t at = 0; at < line.size();) {
    const auto start = line.find_first_not_of(' ', at);
    if (start == std::string::npos) break;
    at = std::min(line.find("  ", start), line.size());
    cells.push_back(line.substr(start, at - start));
  }
  return cells;
}

}  // namespace lockstep::test
