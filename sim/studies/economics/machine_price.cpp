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

}  // namespace

std::vector<BillLine> bill_of(const NetworkPrices& prices, const topologies::ComponentCounts& counts) {
  const auto cables = [](std::string name, std::int64_t count, const CablePrices& of) {
    return BillLine{std::move(name), count, static_cast<double>(count) * of.price, Watts(0)};
  };
  const auto parts = [](std::string name, std::int64_t count, const Part& of) {
    return BillLine{std::move(name), count, static_cast<double>(count) * of.price,
                    of.power * static_cast<double>(count)};
  };
  const auto optics = counts.host_links() * prices.host_cable.optics +
                      counts.switch_links * prices.switch_cable.optics + counts.torus_links * prices.torus_cable.optics;
  std::vector<BillLine> lines = {parts("NIC", counts.nics, prices.nic),
                                 parts("switch", counts.switches, prices.network_switch),
                                 cables("cable of a host", counts.host_links(), prices.host_cable),
                                 cables("cable between switches", counts.switch_links, prices.switch_cable),
                                 cables("cable of a torus", counts.torus_links, prices.torus_cable),
                                 parts("optic", optics, prices.optic)};
  std::erase_if(lines, [](const BillLine& line) { return line.count == 0; });
  return lines;
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
  machine.rated = (chips + prices.host * static_cast<double>(counts.hosts) + machine.network_power) * prices.pue;
  return machine;
}

}  // namespace lockstep::economics
