#pragma once
/// Numbers in sentences.
#include <concepts>
#include <string>

namespace lockstep {

/// Digits, perhaps behind a minus, in groups of three: "1,234,567".
[[nodiscard]] std::string in_threes(std::string digits);

/// "12.5", "0.333333", "1.2e+06": as many digits as tell something, at most six.
[[nodiscard]] std::string six_digits(double value);

/// "1 switch", "1,234 switches"; `many` where it is not `one` and an s.
[[nodiscard]] std::string counted(std::integral auto count, const std::string& one, const std::string& many = "") {
  return in_threes(std::to_string(count)) + " " + (count == 1 ? one : many.empty() ? one + "s" : many);
}

}  // namespace lockstep
