// Costs of runs, added up by hand from round prices.
#include "sim/studies/economics/run_cost.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/economics/small_step.hpp"

namespace lockstep {
namespace {

using economics::cost_of_run;

constexpr double hour = 3600, year = 8760 * hour;

// 64 chips at 3 USD/h; the torus 4x4x4 wraps, so 3 x 64 cables; 16 hosts of 4 chips with a NIC each on one switch.
TEST(RunCost, AddsUp) {
  const auto scenario = test::scenario_of(test::small);
  const auto simulation = test::simulated(scenario);
  const double tokens = 1e12;
  const auto cost = cost_of_run(scenario, simulation, test::round_prices(), tokens);
  const double seconds = tokens / (64 * 512) * simulation.metrics.step_time.value();
  EXPECT_NEAR(cost.run.value(), seconds, 1e-9 * seconds);
  EXPECT_NEAR(cost.for_chips, 64 * 3 * seconds / hour, 1e-6);
  const double bought = 16 * 1000 + 1 * 10000 + 16 * (10 + 100) + 192 * 30;
  EXPECT_NEAR(cost.for_network, bought * seconds / year, 1e-9 * cost.for_network);
  const double others = 16 * 1000 + 16 * 10 + 500 + 16 * 5;  // hosts, NICs, the switch, an optic at each NIC
  EXPECT_NEAR(cost.site.value(), 1.5 * (cost.power.mean.value() + others), 1e-6);
  const double kilowatt_hours = cost.site.value() * seconds / 3.6e6;
  EXPECT_NEAR(cost.for_energy, 0.10 * kilowatt_hours, 1e-9 * cost.for_energy);
  EXPECT_NEAR(cost.tonnes.value(), 0.5 * kilowatt_hours / 1000, 1e-9 * kilowatt_hours);
  EXPECT_NEAR(cost.total, cost.for_chips + cost.for_network + cost.for_energy, 1e-9 * cost.total);
  EXPECT_NEAR(cost.per_billion_tokens, cost.total / 1000, 1e-9 * cost.total);
}

// Everything is proportional to the tokens.
TEST(RunCost, GrowsWithTheTokens) {
  const auto scenario = test::scenario_of(test::small);
  const auto simulation = test::simulated(scenario);
  const auto once = cost_of_run(scenario, simulation, test::round_prices(), 1e12);
  const auto twice = cost_of_run(scenario, simulation, test::round_prices(), 2e12);
  EXPECT_NEAR(twice.total, 2 * once.total, 1e-9 * twice.total);
  EXPECT_NEAR(twice.energy.value(), 2 * once.energy.value(), 1e-9 * twice.energy.value());
  EXPECT_EQ(twice.site, once.site);
  EXPECT_NEAR(twice.per_billion_tokens, once.per_billion_tokens, 1e-9 * once.per_billion_tokens);
}

// Failures stretch the run by 1/goodput. Chips at work draw the step's power, so energy grows by less than time does.
TEST(RunCost, FailuresCostTimeAndLessEnergy) {
  const std::vector<scenario::KeyOverride> fails{
      {"reliability",
       "{failures: {bug: {of: job, mtbf: 10000 s}}, restart: 900 s, checkpoint: {size: 1 GB, write_bandwidth: 100 "
       "MB/s}}"}};
  const auto healthy = test::scenario_of(test::small), unreliable = test::scenario_of(test::small, fails);
  const auto simulation = test::simulated(healthy);
  const auto without = cost_of_run(healthy, simulation, test::round_prices(), 1e12);
  const auto with = cost_of_run(unreliable, simulation, test::round_prices(), 1e12);
  EXPECT_LT(with.goodput, 0.95);
  EXPECT_NEAR(with.run.value(), without.run.value() / with.goodput, 1e-9 * with.run.value());
  EXPECT_GT(with.energy, without.energy);
  EXPECT_LT(with.energy / without.energy, with.run / without.run);
}

// Two nodes of 8 H100 and two of 8 A100: each kind has its price and its power.
TEST(RunCost, KnowsTheKindsOfChips) {
  const auto scenario =
      test::scenario_of(test::small, {{"cluster", "{groups: [{node: dgx-h100, nodes: 2}, {node: dgx-a100, nodes: 2}]}"},
                                      {"mesh", "{}"},
                                      {"parallel", "{tensor: 8, fsdp: 4}"}});
  const auto cost = cost_of_run(scenario, test::simulated(scenario), test::round_prices(), 1e9);
  EXPECT_NEAR(cost.for_chips, (16 * 2 + 16 * 1) * cost.run.value() / hour, 1e-9);
  EXPECT_NEAR(cost.power.idle.value(), 16 * 105 + 16 * 60, 1e-9);
}

// A fabric that the list names has its own prices; those that it does not name have the list's.
TEST(RunCost, FabricsHaveTheirPrices) {
  const auto on = [](const std::string& fabric) {
    const auto scenario =
        test::scenario_of(test::small, {{"cluster", "{node: dgx-h100, nodes: 2, fabric: " + fabric + "}"},
                                        {"mesh", "{}"},
                                        {"parallel", "{tensor: 8, fsdp: 2}"}});
    return cost_of_run(scenario, test::simulated(scenario), test::round_prices(), 1e9).network;
  };
  const auto part = [](const std::vector<economics::BillLine>& lines, const std::string& name) {
    for (const auto& line : lines) {
      if (line.part == name) return line.price / static_cast<double>(line.count);
    }
    return -1.0;
  };
  EXPECT_EQ(part(on("roce-400g"), "switch"), 20000);
  EXPECT_EQ(part(on("infiniband-ndr-rail"), "switch"), 10000);
  EXPECT_EQ(part(on("infiniband-ndr-rail"), "NIC"), 1000);
}

// 16 nodes of 8 NICs of 400 Gb/s on a fat tree of 64 ports: 128 NICs and host cables. A part costs what the cheapest
// one costs that has as many ports and is as fast: the switch of 128 ports is cheaper here than the one of 64.
TEST(RunCost, APartCostsWhatTheCheapestSizeThatFitsCosts) {
  auto prices = test::round_prices();
  prices.networks.clear();
  auto& network = *prices.network;
  const auto rate = [](double gbps) { return BytesPerSecond(gbps * 1e9 / 8); };
  const auto part = [](double price) { return economics::Part{price, Watts(1), true, true}; };
  network.nics = {{0, rate(200), part(1)}, {0, rate(400), part(2)}, {0, rate(800), part(3)}};
  network.switches = {
      {32, rate(800), part(100)}, {64, rate(200), part(200)}, {64, rate(400), part(400)}, {128, rate(400), part(300)}};
  network.optics = {{0, rate(400), part(5)}, {0, rate(800), part(7)}};
  const auto priced = [&](const std::string& fabric) {
    const auto scenario =
        test::scenario_of(test::small, {{"cluster", "{node: dgx-h100, nodes: 16, fabric: " + fabric + "}"},
                                        {"mesh", "{}"},
                                        {"parallel", "{tensor: 8, fsdp: 16}"}});
    std::map<std::string, double> each;
    const auto counts = topologies::count_components(scenario.cluster);
    for (const auto& line : economics::price_of_machine(scenario.cluster, prices).network)
      each[line.part] = line.price / static_cast<double>(line.count);
    // One optic at a host's cable, two at a cable between switches (round.yaml).
    const auto optics = counts.host_links() + 2 * counts.switch_links;
    EXPECT_DOUBLE_EQ(
        each["optic"] * static_cast<double>(optics),
        5.0 * static_cast<double>(counts.host_links()) +
            (fabric.find("800") == std::string::npos ? 5.0 : 7.0) * 2 * static_cast<double>(counts.switch_links));
    return each;
  };
  const auto usual = priced("{kind: fat_tree, radix: 64}");
  EXPECT_EQ(usual.at("NIC"), 2);
  EXPECT_EQ(usual.at("switch"), 300);
  EXPECT_EQ(priced("{kind: fat_tree, radix: 32, link: 800 Gbps}").at("switch"), 100);
  try {
    (void)priced("{kind: fat_tree, radix: 64, link: 1600 Gbps}");
    ADD_FAILURE() << "no switch of that rate is in the list";
  } catch (const ConfigError& error) {
    ASSERT_EQ(error.problems().size(), 2u);  // the switch, and the optic of cables between switches
    EXPECT_THAT(
        error.problems().front().to_string(),
        testing::HasSubstr("network.switch: has no size for 64 ports of 1600 Gbps; expected one as large in the "
                           "list, which has 32 ports of 800 Gbps, 64 ports of 200 Gbps"));
  }
}

// The prices of roce-400g have a switch and nothing else, which the notes say in one line each for prices and powers.
TEST(RunCost, PartsWithoutAPriceAreNamed) {
  const auto scenario = test::scenario_of(test::small, {{"cluster", "{node: dgx-h100, nodes: 2, fabric: roce-400g}"},
                                                        {"mesh", "{}"},
                                                        {"parallel", "{tensor: 8, fsdp: 2}"}});
  auto prices = test::round_prices();
  const auto counts = topologies::count_components(scenario.cluster);
  const auto named = [&] { return economics::not_in_the_list(scenario.cluster, prices, counts); };
  EXPECT_THAT(named(), testing::ElementsAre(
                           "parts without a price in networks.roce-400g cost nothing: nic, host_cable, switch_cable",
                           "parts without a power in networks.roce-400g draw none: nic, switch"));
  EXPECT_EQ(economics::price_of_machine(scenario.cluster, prices).assumed, named());
  EXPECT_THAT(cost_of_run(scenario, test::simulated(scenario), prices, 1e9).notes, testing::IsSupersetOf(named()));
  prices.networks.clear();
  EXPECT_THAT(named(), testing::IsEmpty());
  prices.network.reset();
  prices.host.reset();
  prices.kilowatt_hour.reset();
  EXPECT_THAT(named(), testing::SizeIs(3));
}

TEST(RunCost, NamesWhatIsBetterInAll) {
  const auto run = [](double days, double money, double joules) {
    economics::RunCost cost;
    cost.run = Seconds(days), cost.total = money, cost.energy = Joules(joules);
    return cost;
  };
  const auto better = economics::better_in_all({run(1, 5, 5), run(2, 4, 5), run(2, 5, 5), run(2, 5, 5), run(3, 4, 4)});
  EXPECT_FALSE(better[0]);
  EXPECT_FALSE(better[1]);
  EXPECT_EQ(better[2], 0u);  // as much money and energy in twice the time
  EXPECT_EQ(better[3], 0u);  // equal runs do not beat each other
  EXPECT_FALSE(better[4]);
}

TEST(RunCost, ChipsWithoutPriceOrPowerAreRefusedAtOnce) {
  economics::PriceList nothing;
  try {
    check_prices(test::scenario_of(test::small).cluster, nothing);
    FAIL() << "no problem";
  } catch (const ConfigError& error) {
    ASSERT_EQ(error.problems().size(), 2u);
    EXPECT_THAT(error.problems()[0].to_string(), testing::HasSubstr("chips.tpu-v5p: has no price"));
    EXPECT_THAT(error.problems()[1].to_string(), testing::HasSubstr("has no power, and the catalog knows none"));
  }
}

}  // namespace
}  // namespace lockstep
