#include "sim/core/counted.hpp"

#include <array>
#include <cstdio>

namespace lockstep {

std::string in_threes(std::string digits) {
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (auto left = digits.size(); left > first + 3; left -= 3) digits.insert(left - 3, ",");
  return digits;
}

std::string six_digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

}  // namespace lockstep
