#include "workloads/pipeline/layout.hpp"

#include <algorithm>
#include <charconv>

namespace lockstep::workloads {
namespace {

constexpr std::size_t most_letters = 300'000;  // three times the layers of the largest model

bool is_letter(char c) { return c == 'E' || c == 't' || c == 'm' || c == 'L' || c == '|'; }

/// Unrolls repetitions: first those of brackets, in which single letters may be repeated too, then those of letters.
class Unrolling {
 public:
  /// Only letters and bars, unless there is a problem.
  std::string unrolled(std::string_view text) {
    std::string plain;
    for (const char c : text) {
      if (c != ',' && c != ' ') plain += c;
    }
    return without_repeated_letters(without_brackets(plain));
  }
  LayoutProblem problem;

 private:
  std::string without_brackets(const std::string& text) {
    std::string made;
    for (std::size_t at = 0; at < text.size() && problem.what.empty();) {
      if (text[at] != '(') {
        made += text[at++];
        continue;
      }
      const auto end = text.find_first_of("()", at + 1);
      if (end == std::string::npos || text[end] == '(') {
        refuse("a bracket is not closed before the next one or the end", "brackets side by side, as in (tt|)*3");
        break;
      }
      const auto inside = text.substr(at + 1, end - at - 1);
      at = end + 1;
      if (!std::string_view(text).substr(at).starts_with('*'))
        refuse("there is no number of repetitions behind a bracket", "(...)*N");
      else
        add(inside, text, at, made);
    }
    return made;
  }

  std::string without_repeated_letters(const std::string& text) {
    std::string made;
    for (std::size_t at = 0; at < text.size() && problem.what.empty();) {
      const char letter = text[at++];
      if (is_letter(letter))
        add(std::string(1, letter), text, at, made);
      else
        refuse("'" + std::string(1, letter) + "' is no part of a layout",
               "E, t, m, L, | and repetitions such as (tt|)*3");
    }
    return made;
  }

  /// Adds `what` as often as "*N" at this place says, once if there is none.
  void add(const std::string& what, const std::string& text, std::size_t& at, std::string& made) {
    std::size_t times = 1;
    if (at < text.size() && text[at] == '*') {
      const auto* begin = text.data() + at + 1;
      const auto [end, error] = std::from_chars(begin, text.data() + text.size(), times);
      if (error != std::errc() || times < 1 || times > most_letters)
        return refuse("'*' has no whole number of repetitions behind it",
                      "a number from 1 to " + std::to_string(most_letters));
      at += 1 + static_cast<std::size_t>(end - begin);
    }
    if (made.size() + what.size() * times > most_letters)
      return refuse("there are more than " + std::to_string(most_letters) + " letters and bars",
                    "the layout of a model of at most 100,000 layers");
    for (std::size_t i = 0; i < times; ++i) made += what;
  }

  void refuse(const std::string& what, const std::string& expected) {
    if (problem.what.empty()) problem = {what, expected};
  }
};

/// Three equal letters and more as t*3.
std::string stage_text(const std::string& letters) {
  std::string text;
  for (std::size_t i = 0; i < letters.size();) {
    const auto end = std::min(letters.find_first_not_of(letters[i], i), letters.size());
    text += end - i > 2 ? std::string(1, letters[i]) + "*" + std::to_string(end - i) : letters.substr(i, end - i);
    i = end;
  }
  return text;
}

}  // namespace

std::variant<PipelineLayout, LayoutProblem> parse_layout(std::string_view text) {
  Unrolling unrolling;
  const auto letters = unrolling.unrolled(text);
  if (!unrolling.problem.what.empty()) return unrolling.problem;
  if (letters.empty()) return LayoutProblem{"the layout is empty", "a layout such as Et*3|(tt|)*29,m|L"};
  PipelineLayout layout(1);
  for (const char c : letters) {
    if (c == '|')
      layout.push_back("");
    else
      layout.back() += c;
  }
  return layout;
}

std::string layout_text(const PipelineLayout& layout) {
  std::string text;
  for (VirtualStageId stage = 0; stage < layout.count();) {
    VirtualStageId end = stage + 1;
    while (end < layout.count() && layout[end] == layout[stage]) ++end;
    const bool is_last = end == layout.count();
    const auto repeated = end - stage - (is_last ? 1 : 0);  // nothing stands behind the last stage
    const auto letters = stage_text(layout[stage]);
    if (repeated > 2) {
      text += "(" + letters + "|)*" + std::to_string(repeated) + ",";
      stage += repeated;
    } else {
      text += letters + (stage + 1 < layout.count() ? "|" : "");
      ++stage;
    }
  }
  return text;
}

}  // namespace lockstep::workloads
