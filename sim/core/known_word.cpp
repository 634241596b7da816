#include "sim/core/known_word.hpp"

#include <algorithm>

namespace lockstep {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool alike(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

/// Letters and digits alone.
std::string bare(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const char small = lower(c);
    if ((small >= 'a' && small <= 'z') || (small >= '0' && small <= '9')) result += small;
  }
  return result;
}

}  // namespace

std::string known_word(std::string_view word, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), word) != names.end()) return std::string(word);
  const auto near =
      std::find_if(names.begin(), names.end(), [&](const std::string& name) { return alike(word, name); });
  return near == names.end() ? "" : *near;
}

std::vector<std::string> names_with(std::string_view word, const std::vector<std::string>& names, std::size_t most) {
  const auto part = bare(word);
  std::vector<std::string> found;
  for (const auto& name : names) {
    if (found.size() < most && !part.empty() && bare(name).find(part) != std::string::npos) found.push_back(name);
  }
  return found;
}

}  // namespace lockstep
