#include "sim/core/counted.hpp"

namespace lockstep {

std::string in_threes(std::string digits) {
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (auto left = digits.size(); left > first + 3; left -= 3) digits.insert(left - 3, ",");
  return digits;
}

}  // namespace lockstep
