#include "tools/output/files/csv_field.hpp"

#include <charconv>
#include <string_view>

#include "sim/core/visible_text.hpp"

namespace lockstep::output {
namespace {

bool is_number(std::string_view text) {
  double value = 0;
  const auto from = text.starts_with('+') ? text.substr(1) : text;
  const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), value);
  return error == std::errc{} && end == from.data() + from.size();
}

}  // namespace

std::string csv_field(const std::string& text) {
  constexpr std::string_view formulas = "=+-@\t";
  auto cell = visible(text, LineFeeds::kept);
  if (!cell.empty() && formulas.find(cell.front()) != std::string_view::npos && !is_number(cell))
    cell.insert(cell.begin(), '\'');
  if (cell.find_first_of(",\"\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace lockstep::output
