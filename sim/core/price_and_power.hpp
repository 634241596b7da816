#pragma once
/// Prices and powers. A price names its currency and what it buys, a power its unit: "2.50 USD/h", "30000 USD",
/// "0.08 EUR/kWh", "700 W". Parsing returns an error text instead of throwing, as that of other quantities does.
#include <string>
#include <string_view>
#include <variant>

#include "sim/core/quantity_text.hpp"
#include "sim/core/units.hpp"

namespace lockstep {

using Watts = Quantity<struct WattsTag, double>;
using Joules = Quantity<struct JoulesTag, double>;

constexpr Joules operator*(Watts power, Seconds time) { return Joules(power.value() * time.value()); }
constexpr Watts operator/(Joules energy, Seconds time) { return Watts(energy.value() / time.value()); }

inline constexpr Joules one_kilowatt_hour{3.6e6};

struct Price {
  double amount = 0;     ///< of one unit of what it buys
  std::string currency;  ///< three capital letters, as in ISO 4217
};
/// What a price buys one of.
enum class PricedUnit { piece, hour, kilowatt_hour };

[[nodiscard]] std::variant<Price, QuantityError> parse_price(std::string_view text, PricedUnit unit);
[[nodiscard]] std::variant<Watts, QuantityError> parse_watts(std::string_view text);
/// Grams of carbon dioxide for each kWh: "350 g/kWh" or "0.35 kg/kWh".
[[nodiscard]] std::variant<double, QuantityError> parse_grams_per_kilowatt_hour(std::string_view text);

[[nodiscard]] std::string format(Watts value);   ///< "11.2 MW"
[[nodiscard]] std::string format(Joules value);  ///< "6.30 MWh"

}  // namespace lockstep
