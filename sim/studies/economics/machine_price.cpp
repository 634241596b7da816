#include "sim/studies/economics/machine_price.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::economics {
namespace {

/// Visits each kind of chip and how many of them there are.
template <class Visit>
void for_each_kind(const topologies::ClusterSpec& cluster, Visit visit) {
  if (cluster.groups.empty()) return visit(cluster.chip(), cluster.devices());
  for (const auto& group : cluster.groups)
    visit(group.node.chip, std::int64_t{group.units} * group.node.chips * cluster.halls);
}

std::int64_t switch_optics_of(const NetworkPrices& prices, const topologies::ComponentCounts& counts) {
  return counts.switch_links * prices.switch_cable.optics;
}
std::int64_t other_optics_of(const NetworkPrices& prices, const topologies::ComponentCounts& counts) {
  return counts.host_links() * prices.host_cable.optics + counts.torus_links * prices.torus_cable.optics;
}

/// The ports and rates that a network needs.
struct Needs {
  std::int64_t ports;
  BytesPerSecond nic, link;
};

Needs needs_of(const topologies::ClusterSpec& cluster) {
  const auto& fabric = cluster.fabric;
  BytesPerSecond nic(0);
  if (const auto* node = cluster.node()) nic = node->nic;
  if (cluster.node() == nullptr) nic = cluster.chip().dcn_per_host.value_or(nic);
  std::int64_t ports = fabric.radix;
  for (const int above : fabric.radix_above) ports = std::max<std::int64_t>(ports, above);
  return {ports, nic, fabric.link > BytesPerSecond(0) ? fabric.link : nic};
}

std::string as_gbps(BytesPerSecond rate) { return std::to_string(std::llround(rate.value() * 8 / 1e9)) + " Gbps"; }

class Fitting {
 public:
  explicit Fitting(const NetworkPrices& prices) : prices_(prices) {}

  /// The cheapest that fits; what has one size stays as it is.
  template <class Priced>
  void fit(const std::string& key, const std::vector<Sized<Priced>>& sizes, std::int64_t ports, BytesPerSecond rate,
           Priced& into) {
    if (sizes.empty()) return;
    constexpr double rounding = 1e-6;
    const Sized<Priced>* best = nullptr;
    for (const auto& size : sizes) {
      if (size.ports < ports || size.rate < rate * (1 - rounding)) continue;
      if (best == nullptr || size.part.price < best->part.price) best = &size;
    }
    if (best != nullptr) {
      into = best->part;
      return;
    }
    std::string known;
    for (const auto& size : sizes) known += (known.empty() ? "" : ", ") + size_text(size.ports, size.rate);
    refuse(key, "has no size for " + size_text(ports, rate), "one as large in the list, which has " + known);
  }

  void refuse(const std::string& key, std::string what, std::string expected) {
    problems_.add({prices_.at, prices_.path + "." + key, std::move(what), std::move(expected)});
  }
  void throw_if_any() const { problems_.throw_if_any(); }

 private:
  static std::string size_text(std::int64_t ports, BytesPerSecond rate) {
    return (ports > 0 ? std::to_string(ports) + " ports of " : "") + as_gbps(rate);
  }

  const NetworkPrices& prices_;
  Problems problems_;
};

}  // namespace

std::optional<NetworkPrices> prices_on(const topologies::ClusterSpec& cluster, const PriceList& prices) {
  const auto* listed = prices.network_of(cluster.fabric.name);
  if (listed == nullptr) return std::nullopt;
  auto made = *listed;
  Fitting fitting(*listed);
  const bool is_sized = !made.nics.empty() || !made.switches.empty() || !made.optics.empty() ||
                        !made.host_cables.empty() || !made.switch_cables.empty();
  if (is_sized && std::holds_alternative<topologies::GivenNetwork>(cluster.fabric.kind)) {
    fitting.refuse("switch", "parts in several sizes on a network from a file", "one size of each part");
  } else if (is_sized) {
    const auto needs = needs_of(cluster);
    const auto counts = topologies::count_components(cluster);  // a part that is not bought needs no size that fits
    if (counts.nics > 0) fitting.fit("nic", made.nics, 0, needs.nic, made.nic);
    if (counts.switches_to_buy > 0)
      fitting.fit("switch", made.switches, needs.ports, std::max(needs.nic, needs.link), made.network_switch);
    if (counts.host_links() + counts.torus_links > 0) fitting.fit("optic", made.optics, 0, needs.nic, made.optic);
    if (counts.host_links() > 0) fitting.fit("host_cable", made.host_cables, 0, needs.nic, made.host_cable);
    if (counts.switch_links > 0) {
      fitting.fit("optic", made.optics, 0, needs.link, made.switch_optic);
      fitting.fit("switch_cable", made.switch_cables, 0, needs.link, made.switch_cable);
    }
  }
  fitting.throw_if_any();
  return made;
}

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
                                 parts("optic", other_optics_of(prices, counts), prices.optic)};
  const auto between = parts("optic", switch_optics_of(prices, counts), prices.switch_optic);
  lines.back().count += between.count;
  lines.back().price += between.price;
  lines.back().power = lines.back().power + between.power;
  std::erase_if(lines, [](const BillLine& line) { return line.count == 0; });
  return lines;
}

std::vector<std::string> not_in_the_list(const topologies::ClusterSpec& cluster, const PriceList& prices,
                                         const topologies::ComponentCounts& counts) {
  std::vector<std::string> told;
  if (!prices.host && counts.hosts > 0) told.emplace_back("hosts draw no power: the list has no host power");
  if (const auto network = prices_on(cluster, prices)) {
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
    const auto between = switch_optics_of(*network, counts);
    part("optic", other_optics_of(*network, counts) + between, between > 0 ? network->switch_optic : network->optic);
    add("host_cable", counts.host_links(), network->host_cable.has_price, true);
    add("switch_cable", counts.switch_links, network->switch_cable.has_price, true);
    add("torus_cable", counts.torus_links, network->torus_cable.has_price, true);
    if (!free.empty()) told.push_back("parts without a price in " + network->path + " cost nothing: " + free);
    if (!dark.empty()) told.push_back("parts without a power in " + network->path + " draw none: " + dark);
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
  if (const auto network = prices_on(cluster, prices)) {
    machine.network = bill_of(*network, counts);
    for (const auto& line : machine.network) {
      machine.to_buy += line.price;
      machine.network_power += line.power;
    }
    machine.hour += machine.to_buy * (an_hour / network->lifetime);
  }
  machine.assumed = not_in_the_list(cluster, prices, counts);
  machine.rated =
      (chips + prices.host.value_or(Watts(0)) * static_cast<double>(counts.hosts) + machine.network_power) * prices.pue;
  return machine;
}

}  // namespace lockstep::economics
