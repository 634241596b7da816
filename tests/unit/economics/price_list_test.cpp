// A price list is read whole: every mistake of the file is one line.
#include "sim/studies/economics/price_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/economics/small_step.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "topologies/chips/chip.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;

class PriceListFile : public test::ScratchFolder {
 protected:
  [[nodiscard]] std::vector<std::string> problems_of(const std::string& text) const {
    make("prices.yaml", text);
    std::vector<std::string> lines;
    try {
      (void)economics::read_price_list(place("prices.yaml"));
    } catch (const ConfigError& error) {
      for (const auto& problem : error.problems()) lines.push_back(problem.to_string());
    }
    return lines;
  }
};

TEST(PriceList, HasWhatTheFileSays) {
  const auto list = test::round_prices();
  EXPECT_EQ(list.currency, "USD");
  EXPECT_EQ(list.chips.at("tpu-v5p").hour, 3);
  EXPECT_EQ(list.chips.at("tpu-v5p").power->communicate, Watts(200));
  EXPECT_FALSE(list.chips.at("h100").power);
  EXPECT_EQ(list.network_of("roce-400g")->network_switch.price, 20000);
  EXPECT_EQ(list.network_of("another")->switch_cable.optics, 2);
  EXPECT_EQ(list.pue, 1.5);
  EXPECT_EQ(list.grams_per_kilowatt_hour, 500);
}

TEST_F(PriceListFile, EveryMistakeIsALine) {
  const auto lines = problems_of(
      "chips:\n"
      "  h100: {hour: 2.50}\n"
      "  h200: {hour: 2.50 USD/h, power: {idle: 900 W, communicate: 1 W, compute: 700 W}}\n"
      "network: {switch: {price: 3 EUR}, optics: {price: 1 USD}}\n"
      "energy: {price: 1 USD/kWh, pue: 0.5, carbon: 3}\n");
  ASSERT_EQ(lines.size(), 7u) << testing::PrintToString(lines);
  EXPECT_THAT(lines,
              testing::Contains(HasSubstr(":2:16: chips.h100.hour: `2.50` has no unit; expected a price an hour")));
  EXPECT_THAT(lines, testing::Contains(HasSubstr("chips.h200.power: a chip draws more than while it computes")));
  EXPECT_THAT(lines, testing::Contains(HasSubstr("network.lifetime: missing")));
  EXPECT_THAT(lines, testing::Contains(HasSubstr("is in EUR, and prices before it are in USD; expected one currency")));
  EXPECT_THAT(lines, testing::Contains(HasSubstr("network.optics")));
  EXPECT_THAT(lines, testing::Contains(HasSubstr("energy.pue")));
  EXPECT_THAT(lines, testing::Contains(HasSubstr("energy.carbon: `3` has no unit")));
}

// A value that cannot be read is not compared with others besides.
TEST_F(PriceListFile, OneMistakeIsOneLine) {
  for (const std::string text :
       {"network: {lifetime: 4 years, switch: {price: [3]}}\n", "host: {power: {a: 3}}\n", "energy: {carbon: [3]}\n",
        "chips: {h100: {power: {idle: 100 W, communicate: 200 W, compute: 700}}}\n",
        "chips: {h100: {power: {idle: 100 W, communicate: 200 W}}}\n"})
    EXPECT_THAT(problems_of(text), testing::SizeIs(1)) << text;
}

TEST_F(PriceListFile, SizesHavePortsRatesAndPrices) {
  EXPECT_THAT(
      problems_of("network:\n"
                  "  lifetime: 4 years\n"
                  "  switch:\n"
                  "    - {ports: 64, price: 1 USD}\n"
                  "    - {rate: 400 Gbps, price: 1 USD}\n"
                  "    - {ports: 64, rate: 400, price: 1 USD}\n"
                  "  nic: [{rate: 400 Gbps}, {rate: 400 Gbps, price: 1 USD, ports: 3}, 7]\n"
                  "  optic: []\n"
                  "  torus_cable: [{rate: 400 Gbps, price: 1 USD}]\n"),
      testing::UnorderedElementsAre(
          HasSubstr(":4:7: network.switch[0].rate: missing"), HasSubstr(":5:7: network.switch[1].ports: missing"),
          HasSubstr(":6:25: network.switch[2].rate: `400` has no unit"),
          HasSubstr(":7:9: network.nic[0].price: missing"), HasSubstr("network.nic[1].ports: unknown key"),
          HasSubstr("network.nic[2]: `7` is a single value"), HasSubstr("network.optic: has no sizes"),
          HasSubstr("network.torus_cable: is a list of sizes; expected one size")));
}

TEST_F(PriceListFile, ANumberIsNoList) { EXPECT_THAT(problems_of("3\n"), testing::SizeIs(1)); }

// Chips whose power the catalog knows are chips of the catalog, and none of them draws more waiting than working.
TEST(CatalogPowers, AreOfItsChips) {
  const auto names = topologies::chip_names(test::tree() / "topologies/catalog");
  EXPECT_GT(economics::catalog_powers().size(), 10u);
  for (const auto& [chip, power] : economics::catalog_powers()) {
    EXPECT_THAT(names, testing::Contains(chip));
    EXPECT_LT(power.idle, power.communicate) << chip;
    EXPECT_LT(power.communicate, power.compute) << chip;
  }
}

}  // namespace
}  // namespace lockstep
