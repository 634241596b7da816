#include "tools/output/elements/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <utility>

#include "sim/core/counted.hpp"
#include "sim/core/percent_text.hpp"
#include "sim/core/visible_text.hpp"

namespace lockstep::output {

namespace {

constexpr std::size_t between = 2;       // columns
constexpr std::size_t of_a_number = 16;  // letters that a cell with a quantity has at most; a longer one is of words
constexpr std::size_t least_of_words = 12;

std::size_t longest_word(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find(' ', at), text.size());
    longest = std::max(longest, letters(text.substr(at, end - at)));
    at = end + 1;
  }
  return longest;
}

}  // namespace

void Table::add(std::vector<std::string> row) {
  for (auto& cell : row) cell = visible(cell);
  rows_.push_back(std::move(row));
}

std::size_t Table::columns() const {
  std::size_t most = 0;
  for (const auto& row : rows_) most = std::max(most, row.size());
  return most;
}

const std::string& Table::cell(std::size_t row, std::size_t column) const {
  static const std::string none;
  return column < rows_[row].size() ? rows_[row][column] : none;
}

Table::Widths Table::widths_of(const Widths& most) const {
  Widths widths(most.size(), 0);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      for (const auto& line : folded(cell(row, i), most[i])) widths[i] = std::max(widths[i], letters(line));
    }
  }
  return widths;
}

Table::Widths Table::fitting_widths(std::size_t room) const {
  Widths most(columns(), widest_);
  most[0] = widest_first_;
  auto widths = widths_of(most);
  const auto excess = [&] {
    const auto all = std::accumulate(widths.begin(), widths.end(), between * (widths.size() - 1));
    return all > room ? all - room : 0;
  };
  const auto shrink_to = [&](const Widths& least) {
    for (auto more = excess(); more > 0; --more) {
      std::size_t widest = widths.size();
      for (std::size_t i = 0; i < widths.size(); ++i) {
        if (widths[i] > least[i] && (widest == widths.size() || widths[i] > widths[widest])) widest = i;
      }
      if (widest == widths.size()) return;
      --widths[widest];
    }
  };
  Widths by_header, by_words, by_letters;  // the least that a column needs, more and more of it broken
  for (std::size_t i = 0; i < widths.size(); ++i) {
    std::size_t cells = 0, words = 0;
    for (std::size_t row = 1; row < rows_.size(); ++row) {
      cells = std::max(cells, letters(cell(row, i)));
      words = std::max(words, longest_word(cell(row, i)));
    }
    const auto header = std::max(longest_word(cell(0, i)), std::min(cells, least_of_words));
    by_header.push_back(std::min(widths[i], std::max(header, cells)));
    const bool breaks = cells > of_a_number;
    by_words.push_back(breaks ? std::min(by_header[i], std::max(header, words)) : by_header[i]);
    by_letters.push_back(breaks ? std::min(by_words[i], std::max(header, of_a_number)) : by_words[i]);
  }
  for (const auto* least : {&by_header, &by_words, &by_letters}) shrink_to(*least);
  return widths_of(widths);
}

std::string Table::block(const std::string& indent, const std::vector<std::size_t>& shown, const Widths& widths) const {
  std::string text;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (const auto i : shown) {
      cells.push_back(folded(cell(row, i), widths[i]));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t at = 0; at < height; ++at) {
      std::string line = indent;
      for (std::size_t k = 0; k < shown.size(); ++k) {
        const std::string piece = at < cells[k].size() ? cells[k][at] : "";
        const std::string space(widths[shown[k]] - std::min(widths[shown[k]], letters(piece)), ' ');
        line += (k == 0 ? "" : std::string(between, ' ')) + (left_.contains(shown[k]) ? piece + space : space + piece);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
  }
  return text;
}

std::string Table::to_string(const std::string& indent, std::size_t width) const {
  const auto count = columns();
  const auto room = width > indent.size() ? width - indent.size() : 0;
  const auto widths = width == 0 ? widths_of(Widths(count, 0)) : fitting_widths(room);
  std::string text;
  std::size_t next = 1;
  do {
    std::vector<std::size_t> shown{0};
    std::size_t used = widths[0];
    while (next < count && (width == 0 || shown.size() == 1 || used + between + widths[next] <= room)) {
      used += between + widths[next];
      shown.push_back(next++);
    }
    text += (text.empty() ? "" : "\n") + block(indent, shown, widths);
  } while (next < count);
  return text;
}

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string percent(double fraction) { return percent_text(fraction); }

std::string signed_percent(double fraction) { return (fraction < 0 ? "-" : "+") + percent(std::abs(fraction)); }

std::string with_separators(double value) { return in_threes(fixed(value, 0)); }

}  // namespace lockstep::output
