#include "tools/output/elements/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "tools/output/elements/columns_text.hpp"

namespace lockstep::output {
namespace {

bool begins_letter(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

/// The position at which a text of more letters than `widest` breaks.
std::size_t break_of(const std::string& text, std::size_t widest) {
  std::size_t end = 0, seen = 0;
  while (end < text.size() && (seen < widest || !begins_letter(text[end]))) {
    if (begins_letter(text[end])) ++seen;
    ++end;
  }
  if (const auto space = text.rfind(' ', end); space != std::string::npos && text.find_first_not_of(' ') < space)
    return space + 1;
  const auto sign = text.find_last_of("-_/,+=", end - 1);
  return sign == std::string::npos || sign < end / 2 ? end : sign + 1;
}

std::vector<std::string> broken(std::string text, std::size_t widest, std::size_t indent) {
  const std::string hanging(2 * indent <= widest ? indent : 0, ' ');
  std::vector<std::string> lines;
  while (widest > 0 && letters(text) > widest) {
    const auto end = break_of(text, widest);
    lines.push_back(text.substr(0, end));
    text = hanging + text.substr(end);
  }
  lines.push_back(std::move(text));
  for (auto& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
}

std::size_t leading_spaces(const std::string& text) { return std::min(text.find_first_not_of(' '), text.size()); }

}  // namespace

std::size_t text_width() {
  ::winsize size{};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

std::size_t letters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_letter));
}

std::vector<std::string> folded(std::string text, std::size_t widest) {
  const auto number = text.find(". ");
  const auto indent = number < 4 ? number + 2 : leading_spaces(text);
  return broken(std::move(text), widest, indent);
}

namespace {

/// Breaks each line; `indent_of` says where what follows begins.
template <class IndentOf>
std::string fitted_lines(const std::string& text, std::size_t width, const IndentOf& indent_of) {
  if (width == 0) return text;
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    for (const auto& piece : broken(line, width, indent_of(line))) result += piece + "\n";
    at = end + 1;
  }
  return result;
}

}  // namespace

std::string fitted(const std::string& text, std::size_t width) {
  return fitted_lines(text, width, [](const std::string& line) { return leading_spaces(line) + 2; });
}

std::string fitted_columns(const std::string& text, std::size_t column, std::size_t width) {
  return fitted_lines(text, width, [column](const std::string& line) {
    const bool second = line.starts_with("  ") && line.size() > column && line[column - 1] == ' ';
    return second ? column : leading_spaces(line) + 2;
  });
}

}  // namespace lockstep::output
