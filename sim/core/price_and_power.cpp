#include "sim/core/price_and_power.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/core/plain_number_private.hpp"

namespace lockstep {
namespace {

struct NumberAndUnit {
  double number;
  std::string_view unit;
};

QuantityError wrong_text(std::string_view text, std::string_view what, const std::string& expected) {
  std::string problem = "`";
  problem.append(text).append("` ").append(what);
  return {std::move(problem), expected};
}

/// A number that is not negative and what follows it, without the spaces between.
std::variant<NumberAndUnit, QuantityError> split(std::string_view text, const std::string& expected) {
  const auto wrong = [&](const std::string& what) { return wrong_text(text, what, expected); };
  if (has_leading_zero(text)) return wrong("has a leading zero");
  const auto length = plain_number_length(text);
  if (length == 0) return wrong("has no number");
  const auto number = plain_number_value(text.substr(0, length));
  if (!number || *number > 1e18) return wrong("is out of range");
  if (*number < 0) return wrong("is negative");
  auto unit = text.substr(length);
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.empty()) return wrong("has no unit");
  return NumberAndUnit{*number, unit};
}

struct Scale {
  std::string_view unit;
  double factor;
};

/// The number times the factor of its unit, which is one of these.
template <std::size_t Count>
std::variant<double, QuantityError> scaled(std::string_view text, const std::array<Scale, Count>& scales,
                                           const std::string& expected) {
  const auto parts = split(text, expected);
  if (const auto* error = std::get_if<QuantityError>(&parts)) return *error;
  const auto [number, unit] = std::get<NumberAndUnit>(parts);
  for (const auto& scale : scales) {
    if (scale.unit == unit) return number * scale.factor;
  }
  return wrong_text(text, "has the unknown unit `" + std::string(unit) + "`", expected);
}

struct PricedText {
  std::string_view after_currency, example;
};

PricedText priced_text(PricedUnit unit) {
  switch (unit) {
    case PricedUnit::piece: return {"", "a price such as 1500 USD"};
    case PricedUnit::hour: return {"/h", "a price an hour such as 2.50 USD/h"};
    case PricedUnit::kilowatt_hour: return {"/kWh", "a price of energy such as 0.08 USD/kWh"};
  }
  return {};
}

/// Three to four digits with the prefix that fits.
template <std::size_t Count>
std::string with_prefix(double value, const std::array<Scale, Count>& scales) {
  std::size_t chosen = 0;
  while (chosen + 1 < Count && std::abs(value) >= scales[chosen + 1].factor) ++chosen;
  const double shown = value / scales[chosen].factor;
  std::array<char, 32> text{};
  const int digits = std::abs(shown) >= 100 ? 0 : std::abs(shown) >= 10 ? 1 : 2;
  std::snprintf(text.data(), text.size(), "%.*f ", digits, shown);
  return text.data() + std::string(scales[chosen].unit);
}

}  // namespace

std::variant<Price, QuantityError> parse_price(std::string_view text, PricedUnit unit) {
  const auto [per, example] = priced_text(unit);
  const std::string expected(example);
  const auto parts = split(text, expected);
  if (const auto* error = std::get_if<QuantityError>(&parts)) return *error;
  const auto [amount, written] = std::get<NumberAndUnit>(parts);
  const auto currency = written.substr(0, written.find('/'));
  const bool is_currency = currency.size() == 3 && std::all_of(currency.begin(), currency.end(), [](char letter) {
                             return letter >= 'A' && letter <= 'Z';
                           });
  if (!is_currency) return wrong_text(text, "names no currency of three capital letters", expected);
  if (written.substr(currency.size()) != per)
    return wrong_text(text, per.empty() ? "is not the price of one" : "is not a price for each unit that is bought",
                      expected);
  return Price{amount, std::string(currency)};
}

std::variant<Watts, QuantityError> parse_watts(std::string_view text) {
  constexpr std::array scales{Scale{"W", 1}, Scale{"kW", 1e3}, Scale{"MW", 1e6}};
  const auto value = scaled(text, scales, "a power such as 700 W");
  if (const auto* error = std::get_if<QuantityError>(&value)) return *error;
  return Watts(std::get<double>(value));
}

std::variant<double, QuantityError> parse_grams_per_kilowatt_hour(std::string_view text) {
  constexpr std::array scales{Scale{"g/kWh", 1}, Scale{"kg/kWh", 1e3}};
  return scaled(text, scales, "carbon dioxide for each kWh such as 350 g/kWh");
}

std::string format(Watts value) {
  constexpr std::array scales{Scale{"W", 1}, Scale{"kW", 1e3}, Scale{"MW", 1e6}, Scale{"GW", 1e9}};
  return with_prefix(value.value(), scales);
}

std::string format(Joules value) {
  constexpr std::array scales{Scale{"Wh", 3600}, Scale{"kWh", 3.6e6}, Scale{"MWh", 3.6e9}, Scale{"GWh", 3.6e12}};
  return with_prefix(value.value(), scales);
}

}  // namespace lockstep
