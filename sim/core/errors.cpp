#include "sim/core/errors.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/core/visible_text.hpp"

namespace lockstep {
namespace {

constexpr std::size_t most_lines = 100;
constexpr std::size_t most_letters = 300;  // of one part of a line

std::string joined_lines(const std::vector<Problem>& problems) {
  std::string lines;
  for (std::size_t i = 0; i < std::min(problems.size(), most_lines); ++i) {
    lines += (i == 0 ? "" : "\n") + problems[i].to_string();
  }
  if (problems.size() > most_lines) lines += "\nand " + std::to_string(problems.size() - most_lines) + " more problems";
  return lines;
}

/// A user's text within one line: what steers as its code, the middle of a long text left out.
std::string on_one_line(const std::string& text) {
  const auto inside_letter = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80u; };
  if (text.size() <= most_letters) return visible(text);
  std::size_t cut_from = most_letters / 2;
  std::size_t cut_to = text.size() - most_letters / 2;
  while (cut_from > 0 && inside_letter(cut_from)) --cut_from;
  while (cut_to < text.size() && inside_letter(cut_to)) ++cut_to;
  return visible(std::string_view(text).substr(0, cut_from)) + " ... " + visible(std::string_view(text).substr(cut_to));
}

auto place(const Problem& problem) { return std::tie(problem.where.file, problem.where.line, problem.where.column); }

auto everything(const Problem& problem) {
  return std::tuple_cat(place(problem), std::tie(problem.key, problem.what, problem.expected));
}

/// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours cost one each.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_above, above, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    two_above = std::exchange(above, std::exchange(row, std::vector<std::size_t>(b.size() + 1, i)));
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substituted});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_above[j - 2] + 1);
      }
    }
  }
  return row.back();
}

}  // namespace

std::string Location::to_string() const {
  if (line == 0) return file;
  return file + ':' + std::to_string(line) + ':' + std::to_string(column);
}

std::string Problem::to_string() const {
  std::string line = on_one_line(where.to_string()) + ": ";
  if (!key.empty()) line += on_one_line(key) + ": ";
  line += on_one_line(what);
  if (expected.starts_with("did you mean")) return line + "; " + expected;
  if (!expected.empty()) line += "; expected " + expected;
  return line;
}

ConfigError::ConfigError(std::vector<Problem> problems)
    : std::runtime_error(joined_lines(problems)), problems_(std::move(problems)) {}

void Problems::add(Problem problem) { list_.push_back(std::move(problem)); }

void Problems::throw_if_any() const {
  if (list_.empty()) return;
  std::vector<Problem> sorted = list_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Problem& a, const Problem& b) { return place(a) < place(b); });
  // A value read twice reports its problem twice: of those in one place keep each once.
  std::vector<Problem> distinct;
  for (Problem& problem : sorted) {
    bool met = false;
    for (auto kept = distinct.rbegin(); !met && kept != distinct.rend() && place(*kept) == place(problem); ++kept) {
      met = everything(*kept) == everything(problem);
    }
    if (!met) distinct.push_back(std::move(problem));
  }
  throw ConfigError(std::move(distinct));
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  // A word is near if at most a third of it (two letters for short words) is wrong, but not all of it.
  const std::size_t limit = std::max<std::size_t>(2, word.size() / 3);
  std::size_t nearest_distance = std::min(limit + 1, word.size());
  const std::string* nearest = nullptr;
  for (const std::string& candidate : candidates) {
    // There are at least as many edits as the lengths differ, so a long text needs no table.
    if (std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size()) >= nearest_distance) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < nearest_distance) {
      nearest_distance = distance;
      nearest = &candidate;
    }
  }
  return nearest == nullptr ? "" : "did you mean `" + *nearest + "`";
}

}  // namespace lockstep
