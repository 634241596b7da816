#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "sim/core/plain_number_private.hpp"

namespace lockstep {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_at(std::string_view text, std::size_t from) {
  std::size_t end = from;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - from;
}

}  // namespace

std::size_t plain_number_length(std::string_view text) {
  std::size_t end = text.starts_with('-') ? 1 : 0;
  const std::size_t whole_digits = digits_at(text, end);
  if (whole_digits == 0) return 0;
  end += text[end] == '0' ? 1 : whole_digits;
  if (end < text.size() && text[end] == '.') {
    const std::size_t decimals = digits_at(text, end + 1);
    if (decimals > 0) end += 1 + decimals;
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    const bool has_sign = end + 1 < text.size() && (text[end + 1] == '+' || text[end + 1] == '-');
    const std::size_t exponent_digits = digits_at(text, end + (has_sign ? 2 : 1));
    if (exponent_digits > 0) end += (has_sign ? 2 : 1) + exponent_digits;
  }
  return end;
}

std::optional<double> plain_number_value(std::string_view number) {
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{} || end != number.data() + number.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool has_leading_zero(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && is_digit(text[1]);
}

}  // namespace lockstep
