#pragma once
/// What every design says about itself, in the same words as text, in JSON and on its page.
#include <string>
#include <vector>

namespace lockstep::output {

struct DesignReasons {
  std::string answer;                ///< what was found, how far from the best it is: one sentence
  std::vector<std::string> why;      ///< sentences: what it does differently from the best of the others, which wait
                                     ///< that removes
  std::vector<std::string> what_if;  ///< sentences: what something about the machine, or less of it, would change
};

/// Why and what if, a line each.
[[nodiscard]] inline std::string lines_of(const DesignReasons& reasons) {
  std::string text;
  for (const auto* sentences : {&reasons.why, &reasons.what_if}) {
    for (const auto& sentence : *sentences) text += sentence + "\n";
  }
  return text;
}

}  // namespace lockstep::output
