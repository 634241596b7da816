#include "sim/core/quantity_text.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "sim/core/plain_number_private.hpp"

namespace lockstep {
namespace {

enum class Dimension { size, time, bandwidth, compute_rate, operations };

struct Prefix {
  std::string_view text;
  double times;
  double over = 1;  // dividing by 1e9 rounds once: "7 ns" is the double nearest to 7e-9
};
constexpr std::array thousands{Prefix{"", 1},     Prefix{"k", 1e3},  Prefix{"M", 1e6}, Prefix{"G", 1e9},
                               Prefix{"T", 1e12}, Prefix{"P", 1e15}, Prefix{"E", 1e18}};
constexpr std::array data_prefixes{Prefix{"", 1},        Prefix{"k", 1e3},     Prefix{"M", 1e6},
                                   Prefix{"G", 1e9},     Prefix{"T", 1e12},    Prefix{"P", 1e15},
                                   Prefix{"E", 1e18},    Prefix{"Ki", 0x1p10}, Prefix{"Mi", 0x1p20},
                                   Prefix{"Gi", 0x1p30}, Prefix{"Ti", 0x1p40}};
// No prefix above one: `5 Ms` is more likely a mistyped `5 ms` than two months; long times have their own units.
constexpr std::array fractions{Prefix{"", 1},       Prefix{"m", 1, 1e3}, Prefix{"u", 1, 1e6},
                               Prefix{"µ", 1, 1e6}, Prefix{"n", 1, 1e9}, Prefix{"p", 1, 1e12}};

constexpr std::array no_prefix{Prefix{"", 1}};

struct Unit {
  std::string_view text;
  Dimension dimension;
  double factor;  // to the SI base unit, with bytes for data
  std::span<const Prefix> prefixes;
};
constexpr std::array units{
    Unit{"B", Dimension::size, 1, data_prefixes},
    Unit{"b", Dimension::size, 0.125, data_prefixes},
    Unit{"bit", Dimension::size, 0.125, data_prefixes},
    Unit{"B/s", Dimension::bandwidth, 1, data_prefixes},
    Unit{"Bps", Dimension::bandwidth, 1, data_prefixes},
    Unit{"b/s", Dimension::bandwidth, 0.125, data_prefixes},
    Unit{"bps", Dimension::bandwidth, 0.125, data_prefixes},
    Unit{"bit/s", Dimension::bandwidth, 0.125, data_prefixes},
    Unit{"s", Dimension::time, 1, fractions},
    Unit{"min", Dimension::time, 60, no_prefix},
    Unit{"h", Dimension::time, 3600, no_prefix},
    Unit{"day", Dimension::time, 86400, no_prefix},
    Unit{"days", Dimension::time, 86400, no_prefix},
    Unit{"year", Dimension::time, 365 * 86400.0, no_prefix},  // 8760 h, as in tables of failure rates
    Unit{"years", Dimension::time, 365 * 86400.0, no_prefix},
    Unit{"FLOP/s", Dimension::compute_rate, 1, thousands},
    Unit{"FLOPS", Dimension::compute_rate, 1, thousands},
    Unit{"OP/s", Dimension::compute_rate, 1, thousands},
    Unit{"OPS", Dimension::compute_rate, 1, thousands},
    Unit{"FLOP", Dimension::operations, 1, thousands},
    Unit{"FLOPs", Dimension::operations, 1, thousands},
};

std::string_view name(Dimension dimension) {
  switch (dimension) {
    case Dimension::size: return "a size";
    case Dimension::time: return "a time";
    case Dimension::bandwidth: return "a bandwidth";
    case Dimension::compute_rate: return "a compute rate";
    case Dimension::operations: return "a count of operations";
  }
  return "";
}

std::string_view example(Dimension dimension) {
  switch (dimension) {
    case Dimension::size: return "80 GiB";
    case Dimension::time: return "2 us";
    case Dimension::bandwidth: return "90 GB/s or 400 Gbps";
    case Dimension::compute_rate: return "989 TFLOP/s";
    case Dimension::operations: return "6 EFLOP";
  }
  return "";
}

struct Scale {
  Dimension dimension;
  double times;
  double over;
};

std::optional<Scale> find_scale(std::string_view text) {
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.text)) continue;
    const std::string_view before = text.substr(0, text.size() - unit.text.size());
    for (const Prefix& prefix : unit.prefixes) {
      if (prefix.text == before) return Scale{unit.dimension, prefix.times * unit.factor, prefix.over};
    }
  }
  return std::nullopt;
}

/// The value in the SI base unit of `wanted`, never negative.
std::variant<double, QuantityError> parse(std::string_view text, Dimension wanted) {
  const auto wrong = [&](const std::string& what) {
    return QuantityError{"`" + std::string(text) + "` " + what,
                         std::string(name(wanted)) + " such as " + std::string(example(wanted))};
  };
  if (has_leading_zero(text)) return wrong("has a leading zero");
  const std::size_t length = plain_number_length(text);
  if (length == 0) return wrong("is not " + std::string(name(wanted)));
  std::string_view unit = text.substr(length);
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.empty()) return wrong("has no unit");
  const std::optional<Scale> scale = find_scale(unit);
  if (!scale) return wrong("has the unknown unit `" + std::string(unit) + "`");
  if (scale->dimension != wanted) {
    return wrong("is " + std::string(name(scale->dimension)) + ", not " + std::string(name(wanted)));
  }
  const std::optional<double> number = plain_number_value(text.substr(0, length));
  if (!number || !std::isfinite(*number * scale->times)) return wrong("is out of range");
  if (*number < 0) return wrong("is negative");
  return std::abs(*number) * scale->times / scale->over;  // abs: -0 is 0
}

template <class Wanted>
std::variant<Wanted, QuantityError> parse_as(std::string_view text, Dimension dimension) {
  const std::variant<double, QuantityError> parsed = parse(text, dimension);
  if (const auto* error = std::get_if<QuantityError>(&parsed)) return *error;
  return Wanted(std::get<double>(parsed));
}

}  // namespace

std::variant<Bytes, QuantityError> parse_bytes(std::string_view text) {
  const std::variant<double, QuantityError> parsed = parse(text, Dimension::size);
  if (const auto* error = std::get_if<QuantityError>(&parsed)) return *error;
  const double value = std::get<double>(parsed);
  if (value >= 0x1p63) return QuantityError{"`" + std::string(text) + "` is out of range", "a size below 8 EiB"};
  if (value > 0 && value < 1) {
    return QuantityError{"`" + std::string(text) + "` is less than one byte", "a size such as 80 GiB"};
  }
  return Bytes(std::llround(value));
}

std::variant<Seconds, QuantityError> parse_seconds(std::string_view text) {
  return parse_as<Seconds>(text, Dimension::time);
}

std::variant<BytesPerSecond, QuantityError> parse_bytes_per_second(std::string_view text) {
  return parse_as<BytesPerSecond>(text, Dimension::bandwidth);
}

std::variant<FlopsPerSecond, QuantityError> parse_flops_per_second(std::string_view text) {
  return parse_as<FlopsPerSecond>(text, Dimension::compute_rate);
}

}  // namespace lockstep
