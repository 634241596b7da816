#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "sim/core/quantity_text.hpp"

namespace lockstep {
namespace {

/// Digits after the point, independent of the locale.
std::string fixed(double value, int decimals) {
  std::array<char, 400> buffer{};
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, decimals);
  return std::string(buffer.data(), end);
}

struct Step {
  std::string_view prefix;
  double factor;
};
constexpr std::array up{Step{"", 1},     Step{"k", 1e3},  Step{"M", 1e6},  Step{"G", 1e9}, Step{"T", 1e12},
                        Step{"P", 1e15}, Step{"E", 1e18}, Step{"Z", 1e21}, Step{"Y", 1e24}};
constexpr std::array down{Step{"p", 1e-12}, Step{"n", 1e-9}, Step{"u", 1e-6}, Step{"m", 1e-3}, Step{"", 1}};

/// Three significant digits: 1.35, 13.5, 135.
int three_digits(double scaled) { return scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0; }
/// Two decimals, so that times in one column line up.
int two_decimals(double) { return 2; }

template <class Decimals>
std::string with_prefix(double value, std::string_view unit, std::span<const Step> steps, Decimals decimals) {
  if (!std::isfinite(value)) return fixed(value, 0) + ' ' + std::string(unit);
  const double magnitude = std::abs(value);
  std::size_t chosen = 0;
  // A value that would print as 1000 moves on to the next prefix.
  const double limit = 1000 - 0.5 * std::pow(10, -decimals(999));
  while (chosen + 1 < steps.size() && magnitude >= limit * steps[chosen].factor) ++chosen;
  const double scaled = magnitude / steps[chosen].factor;
  return (value < 0 ? "-" : "") + fixed(scaled, decimals(scaled)) + ' ' + std::string(steps[chosen].prefix) +
         std::string(unit);
}

}  // namespace

std::string format(Bytes value) {
  if (value > Bytes(-1000) && value < Bytes(1000)) return std::to_string(value.value()) + " B";
  return with_prefix(static_cast<double>(value.value()), "B", up, three_digits);
}

std::string format(Seconds value) {
  if (value.value() == 0) return "0.00 s";
  return with_prefix(value.value(), "s", down, two_decimals);
}

std::string format(BytesPerSecond value) { return with_prefix(value.value(), "B/s", up, three_digits); }

std::string format(FlopsPerSecond value) { return with_prefix(value.value(), "FLOP/s", up, three_digits); }

std::string format(Flops value) { return with_prefix(value.value(), "FLOP", up, three_digits); }

std::string exact(double value) {
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), end);
}

}  // namespace lockstep
