// Cells of published tables, read as people write them. What stands in a cell that cannot be read is never taken for a
// default.
#include <algorithm>
#include <cctype>
#include <filesystem>

#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {

std::string at_its_cell(Problem problem) {
  problem.where.file = std::filesystem::path(problem.where.file).filename().string();
  return problem.to_string();
}

bool is_blank(const CsvRow& row, std::string_view column) {
  Problems unreadable;
  return !row.read_loosely(unreadable).number(column) && unreadable.empty();
}

std::int64_t leading_integer(const std::string& text, std::int64_t fallback) {
  const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto value = end == 0 || end > 12 ? 0 : std::stoll(text.substr(0, end));
  return value < 1 ? fallback : value;
}

std::int64_t count_or_zero(const CsvRow& row, std::string_view column) {
  const auto text = row.text(column);
  const auto first = text.substr(0, text.find_first_of(" (["));
  return first == "0" ? 0 : row.integer(column);
}

bool yes_or_no(const CsvRow& row, std::string_view column, std::optional<bool> fallback) {
  const auto word = lower_case(row.text(column));
  if (word == "true" || word == "yes" || word == "1") return true;
  if (word == "false" || word == "no" || word == "0") return false;
  if (!is_blank(row, column)) {
    row.problem(column, "'" + row.text(column) + "' is neither yes nor no", "yes or no");
  } else if (!fallback) {
    row.problem(column, "is empty", "yes or no");
  }
  return fallback.value_or(false);
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char c : lower_case(text)) {
    const bool of_a_word = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    if (of_a_word && !inside) words.emplace_back();
    if (of_a_word) words.back() += c;
    inside = of_a_word;
  }
  return words;
}

void skip_cell(MeasuredRun& run, const CsvRow& row, std::string_view column, std::string what, std::string expected) {
  skip(run, at_its_cell({row.where(column), std::string(column), std::move(what), std::move(expected)}));
}

void skip_word(MeasuredRun& run, const CsvRow& row, std::string_view column, std::string expected) {
  const auto text = row.text(column);
  skip_cell(run, row, column, text.empty() ? "is empty" : "'" + text + "' is not known", std::move(expected));
}

}  // namespace lockstep::validation
