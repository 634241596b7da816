#include "sim/studies/economics/run_cost.hpp"

#include <spdlog/logger.h>

#include <algorithm>

#include "sim/studies/goodput/run_facts.hpp"

namespace lockstep::economics {
namespace {

const ChipPrices* prices_of(const PriceList& list, const topologies::Chip& chip) {
  const auto found = list.chips.find(chip.name);
  return found == list.chips.end() ? nullptr : &found->second;
}

/// Shares of the run's time.
struct RunShares {
  double useful = 1;
  double at_work = 1;  ///< chips draw what they draw in a step; the rest of the time they are idle
};

RunShares shares_of(const scenario::Scenario& scenario, const Simulation& simulation) {
  if (!scenario.reliability) return {};
  spdlog::logger silent("states");
  const auto found = goodput::run_facts(scenario, simulation.preparation, simulation.metrics.step_time, {}, silent);
  const auto model = goodput::run_model(scenario, found.facts);
  const auto shares = goodput::expected_shares(model);
  return {shares.useful, shares.useful + shares.all_causes().lost_work};
}

}  // namespace

void check_prices(const topologies::ClusterSpec& cluster, const PriceList& prices) {
  Problems problems;
  for (const auto& chip : cluster.chips()) {
    const auto missing = [&](std::string what, std::string expected) {
      problems.add({prices.chips_at, "chips." + chip.name, std::move(what), std::move(expected)});
    };
    const auto* stated = prices_of(prices, chip);
    if (stated == nullptr || !stated->hour)
      missing("has no price", "hour: the price of one for an hour, such as 2.50 USD/h");
    if (power_of(prices, chip) == nullptr)
      missing("has no power, and the catalog knows none", "power: {idle: 100 W, communicate: 350 W, compute: 700 W}");
  }
  problems.throw_if_any();
}

RunCost cost_of_run(const scenario::Scenario& scenario, const Simulation& simulation, const PriceList& prices,
                    double tokens) {
  RunCost cost;
  const auto& cluster = *simulation.preparation.machine.cluster;
  const auto shares = shares_of(scenario, simulation);
  cost.step = simulation.metrics.step_time;
  cost.goodput = shares.useful;
  cost.chips = simulation.metrics.chips;
  cost.run = Seconds(tokens / (simulation.metrics.tokens_per_second() * shares.useful));
  const double hours = cost.run / Seconds(3600);

  Indexed<topologies::ChipKindId, ChipPower> powers;
  Indexed<topologies::ChipKindId, double> hour_of_chip;
  for (const auto& chip : cluster.chips()) {
    const auto* stated = prices_of(prices, chip);
    const auto& power = *power_of(prices, chip);
    powers.push_back(power);
    hour_of_chip.push_back(*stated->hour);
    if (!stated->power)
      cost.notes.push_back("power of " + chip.name + ": the catalog's, " + format(power.compute) +
                           " computing (its rating), " + format(power.communicate) + " communicating and " +
                           format(power.idle) + " idle");
  }
  cost.power = power_over_step(simulation, powers);
  for (topologies::RankId lane = 0; lane < simulation.program.ranks(); ++lane)
    cost.for_chips +=
        static_cast<double>(simulation.ranks.size[lane]) * hour_of_chip[simulation.program.chip_of(lane)] * hours;

  const auto counts = topologies::count_components(scenario.cluster);
  cost.hosts = prices.host.value_or(Watts(0)) * static_cast<double>(counts.hosts);
  if (const auto network = prices_on(scenario.cluster, prices)) {
    cost.network = bill_of(*network, counts);
    for (const auto& line : cost.network) {
      cost.for_network += line.price * (cost.run / network->lifetime);
      cost.network_power += line.power;
    }
  }
  for (auto& note : not_in_the_list(scenario.cluster, prices, counts)) cost.notes.push_back(std::move(note));

  const auto site_power = [&](Watts chips) { return (chips + cost.hosts + cost.network_power) * prices.pue; };
  cost.site = site_power(cost.power.mean);
  cost.site_least = site_power(cost.power.least);
  cost.site_most = site_power(cost.power.most);
  cost.energy =
      cost.site * (cost.run * shares.at_work) + site_power(cost.power.idle) * (cost.run * (1 - shares.at_work));
  const double kilowatt_hours = cost.energy / one_kilowatt_hour;
  if (prices.kilowatt_hour) cost.for_energy = kilowatt_hours * *prices.kilowatt_hour;
  if (prices.grams_per_kilowatt_hour) cost.tonnes = kilowatt_hours * *prices.grams_per_kilowatt_hour / 1e6;
  cost.total = cost.for_chips + cost.for_network + cost.for_energy;
  cost.per_billion_tokens = cost.total / tokens * 1e9;
  return cost;
}

std::vector<std::optional<std::size_t>> better_in_all(const std::vector<RunCost>& runs) {
  const auto beats = [](const RunCost& a, const RunCost& b) {
    return a.run <= b.run && a.total <= b.total && a.energy <= b.energy &&
           (a.run < b.run || a.total < b.total || a.energy < b.energy);
  };
  std::vector<std::optional<std::size_t>> better(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t j = 0; j < runs.size() && !better[i]; ++j) {
      if (beats(runs[j], runs[i])) better[i] = j;
    }
  }
  return better;
}

}  // namespace lockstep::economics
