#pragma once
/// Numbers within names.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::topologies {

inline constexpr std::size_t most_digits_of_a_name = 15;

[[nodiscard]] inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

[[nodiscard]] inline std::uint64_t number_in(std::string_view digits) {
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

/// The number with at least so many digits.
[[nodiscard]] inline std::string padded(std::uint64_t number, std::size_t digits) {
  std::string text = std::to_string(number);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return text;
}

/// "gpu##" of gpu07.
[[nodiscard]] inline std::string shape_of(std::string_view name) {
  std::string shape(name);
  std::replace_if(shape.begin(), shape.end(), is_digit, '#');
  return shape;
}

}  // namespace lockstep::topologies
