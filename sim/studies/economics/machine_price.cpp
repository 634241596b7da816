#include "sim/studies/economics/machine_price.hpp"

namespace lockstep::economics {
namespace {

/// Visits each kind of chip and how many of them there are.
template <class Visit>
void for_each_kind(const topologies::ClusterSpec& cluster, Visit visit) {
  if (cluster.groups.empty()) return visit(cluster.chip(), cluster.devices());
  for (const auto& group : cluster.groups)
    visit(group.node.chip, std::int64_t{group.units} * group.node.chips * cluster.halls);
}

std::int64_t optics_of(const NetworkPrices& prices, const topologies::ComponentCounts& counts) {
  return counts.host_links() * prices.host_cable.optics + counts.switch_links * prices.switch_cable.optics +
         counts.torus_links * prices.torus_cable.optics;
}

}  // namespace

std::vector<BillLine> bill_of(const NetworkPrices& prices, const topologies::ComponentCounts& counts) {
  const auto cables = [](std::string name, std::int64_t count, const CablePrices& of) {
    return BillLine{std::move(name), count, static_cast<double>(count) * of.price, Watts(0)};
  };
  const auto parts = [](std::string name, std::int64_t count, const Part& of) {
    return BillLine{std::move(name), count, static_cast<double>(count) * of.price,
                    of.power * static_cast<double>(count)};
  };
  std::vector<BillLine> lines = {parts("NIC", counts.nics, prices.nic),
                                 parts("switch", counts.switches_to_buy, prices.network_switch),
                                 cables("cable of a host", counts.host_links(), prices.host_cable),
                                 cables("cable between switches", counts.switch_links, prices.switch_cable),
                                 cables("cable of a torus", counts.torus_links, prices.torus_cable),
                                 parts("optic", optics_of(prices, counts), prices.optic)};
  std::erase_if(lines, [](const BillLine& line) { return line.count == 0; });
  return lines;
}

std::vector<std::string> not_in_the_list(const PriceList& prices, const std::string& fabric,
                                         const topologies::ComponentCounts& counts) {
  std::vector<std::string> told;
  if (!prices.host && counts.hosts > 0) told.emplace_back("hosts draw no power: the list has no host power");
  if (const auto* network = prices.network_of(fabric)) {
    const auto named = prices.networks.contains(fabric) ? "networks." + fabric : std::string("network");
    std::string free, dark;
    const auto add = [&](const std::string& key, std::int64_t count, bool has_price, bool has_power) {
      if (count > 0 && !has_price) free += (free.empty() ? "" : ", ") + key;
      if (count > 0 && !has_power) dark += (dark.empty() ? "" : ", ") + key;
    };
    const auto part = [&](const std::string& key, std::int64_t count, const Part& of) {
      add(key, count, of.has_price, of.has_power);
    };
    part("nic", counts.nics, network->nic);
    part("switch", counts.switches_to_buy, network->network_switch);
    part("optic", optics_of(*network, counts), network->optic);
    add("host_cable", counts.host_links(), network->host_cable.has_price, true);
    add("switch_cable", counts.switch_links, network->switch_cable.has_price, true);
    add("torus_cable", counts.torus_links, network->torus_cable.has_price, true);
    if (!free.empty()) told.push_back("parts without a price in " + named + " cost nothing: " + free);
    if (!dark.empty()) told.push_back("parts without a power in " + named + " draw none: " + dark);
  } else {
    told.emplace_back("the network costs nothing beside the chip hours and draws no power: the list has no network");
  }
  if (!prices.kilowatt_hour)
    told.emplace_back("energy costs nothing beside the chip hours: the list has no price of energy");
  return told;
}

const ChipPower* power_of(const PriceList& list, const topologies::Chip& chip) {
  const auto stated = list.chips.find(chip.name);
  if (stated != list.chips.end() && stated->second.power) return &*stated->second.power;
  const auto known = catalog_powers().find(chip.name);
  return known == catalog_powers().end() ? nullptr : &known->second;
}

MachinePrice price_of_machine(const topologies::ClusterSpec& cluster, const PriceList& prices) {
  constexpr Seconds an_hour(3600);
  MachinePrice machine;
  Watts chips(0);
  for_each_kind(cluster, [&](const topologies::Chip& chip, std::int64_t count) {
    machine.chips_hour += *prices.chips.at(chip.name).hour * static_cast<double>(count);
    chips += power_of(prices, chip)->compute * static_cast<double>(count);
  });
  machine.hour = machine.chips_hour;
  const auto counts = topologies::count_components(cluster);
  if (const auto* network = prices.network_of(cluster.fabric.name)) {
    machine.network = bill_of(*network, counts);
    for (const auto& line : machine.network) {
      machine.to_buy += line.price;
      machine.network_power += line.power;
    }
    machine.hour += machine.to_buy * (an_hour / network->lifetime);
  }
  machine.assumed = not_in_the_list(prices, cluster.fabric.name, counts);
  machine.rated =
      (chips + prices.host.value_or(Watts(0)) * static_cast<double>(counts.hosts) + machine.network_power) * prices.pue;
  return machine;
}

}  // namespace lockstep::economics
