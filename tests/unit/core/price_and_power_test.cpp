// Prices and powers with their units; a text without one, or with another, says what is wrong.
#include "sim/core/price_and_power.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

std::string wrong(const auto& parsed) {
  const auto* error = std::get_if<QuantityError>(&parsed);
  return error == nullptr ? "" : error->what;
}

TEST(PriceText, HasACurrencyAndWhatItBuys) {
  const auto hour = std::get<Price>(parse_price("2.50 USD/h", PricedUnit::hour));
  EXPECT_EQ(hour.amount, 2.5);
  EXPECT_EQ(hour.currency, "USD");
  EXPECT_EQ(std::get<Price>(parse_price("30000 EUR", PricedUnit::piece)).amount, 30000);
  EXPECT_EQ(std::get<Price>(parse_price("0.08CHF/kWh", PricedUnit::kilowatt_hour)).currency, "CHF");
}

TEST(PriceText, IsRefusedWithoutThem) {
  EXPECT_EQ(wrong(parse_price("2.50", PricedUnit::hour)), "`2.50` has no unit");
  EXPECT_EQ(wrong(parse_price("2.50 USD", PricedUnit::hour)), "`2.50 USD` is not a price for each unit that is bought");
  EXPECT_EQ(wrong(parse_price("2.50 USD/h", PricedUnit::piece)), "`2.50 USD/h` is not the price of one");
  EXPECT_EQ(wrong(parse_price("2.50 dollars", PricedUnit::piece)),
            "`2.50 dollars` names no currency of three capital letters");
  EXPECT_EQ(wrong(parse_price("-1 USD", PricedUnit::piece)), "`-1 USD` is negative");
  EXPECT_EQ(wrong(parse_price("1e30 USD", PricedUnit::piece)), "`1e30 USD` is out of range");
  EXPECT_EQ(wrong(parse_price("USD", PricedUnit::piece)), "`USD` has no number");
}

TEST(PowerText, IsInWatts) {
  EXPECT_EQ(std::get<Watts>(parse_watts("1.2 kW")), Watts(1200));
  EXPECT_EQ(std::get<Watts>(parse_watts("700W")), Watts(700));
  EXPECT_EQ(wrong(parse_watts("700")), "`700` has no unit");
  EXPECT_EQ(wrong(parse_watts("700 kWh")), "`700 kWh` has the unknown unit `kWh`");
}

TEST(CarbonText, IsInGramsForEachKilowattHour) {
  EXPECT_EQ(std::get<double>(parse_grams_per_kilowatt_hour("0.35 kg/kWh")), 350);
  EXPECT_EQ(wrong(parse_grams_per_kilowatt_hour("350 g")), "`350 g` has the unknown unit `g`");
}

// 1 kWh is 3.6e6 J.
TEST(PowerText, IsShownWithItsPrefix) {
  EXPECT_EQ(format(Watts(11.23e6)), "11.2 MW");
  EXPECT_EQ(format(Watts(105)), "105 W");
  EXPECT_EQ(format(Joules(3.6e12 * 5.623)), "5.62 GWh");
  EXPECT_EQ(Watts(1000) * Seconds(3600), one_kilowatt_hour);
}

}  // namespace
}  // namespace lockstep
