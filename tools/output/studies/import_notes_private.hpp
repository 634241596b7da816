#pragma once
#include <string>
#include <vector>

#include "sim/core/visible_text.hpp"

namespace lockstep::output {

/// Sentences as a list, in lines of at most 80 columns where words allow it.
[[nodiscard]] inline std::string notes_text(const std::vector<std::string>& notes) {
  constexpr std::size_t widest = 80;
  std::string text;
  for (const std::string& note : notes) {
    std::string line = "-";
    std::string rest = visible(note) + " ";
    for (std::size_t space = 0; (space = rest.find(' ')) != std::string::npos; rest.erase(0, space + 1)) {
      if (line.size() > 2 && line.size() + 1 + space > widest) {
        text += line + "\n";
        line = " ";
      }
      line += " " + rest.substr(0, space);
    }
    text += line + "\n";
  }
  return text.empty() ? "" : "\nassumed or left out\n" + text;
}

}  // namespace lockstep::output
