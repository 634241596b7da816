#pragma once
#include <array>
#include <cstdio>
#include <string>

namespace lockstep {

/// "61.2 %" of 0.612.
[[nodiscard]] inline std::string percent_text(double share) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%", 100 * share);
  return text.data();
}

}  // namespace lockstep
