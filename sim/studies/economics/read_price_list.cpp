#include <string_view>

#include "sim/core/yaml_view.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/studies/economics/price_list.hpp"

namespace lockstep::economics {
namespace {

/// Reads values of one file and holds its prices to one currency.
class Reader {
 public:
  Reader(PriceList& list, const Problems& problems) : list_(list), problems_(problems) {}

  double price(const YamlView& view, PricedUnit unit) {
    if (!view.exists()) return 0;
    const auto text = text_of(view);
    if (!text) return 0;
    const auto parsed = parse_price(*text, unit);
    if (const auto* error = std::get_if<QuantityError>(&parsed)) {
      view.problem(error->what, error->expected);
      return 0;
    }
    const auto& [amount, currency] = std::get<Price>(parsed);
    if (list_.currency.empty()) list_.currency = currency;
    if (list_.currency != currency)
      view.problem("is in " + currency + ", and prices before it are in " + list_.currency, "one currency");
    return amount;
  }

  [[nodiscard]] Watts watts(const YamlView& view) const {
    if (!view.exists()) return Watts(0);
    const auto text = text_of(view);
    if (!text) return Watts(0);
    const auto parsed = parse_watts(*text);
    if (const auto* watts = std::get_if<Watts>(&parsed)) return *watts;
    view.problem(std::get<QuantityError>(parsed).what, std::get<QuantityError>(parsed).expected);
    return Watts(0);
  }

  /// One part, or a list of its sizes.
  void part(const YamlView& view, Part& into, std::vector<Sized<Part>>& sizes, bool has_ports = false) {
    const auto one = [&](const YamlView& from, Part& part, bool is_sized) {
      part = {price(from["price"], PricedUnit::piece), watts(from["power"]), from["price"].exists(),
              from["power"].exists()};
      if (!is_sized) from.refuse_unknown_keys();
    };
    each(view, into, sizes, has_ports, "such as {price: 1500 USD, power: 25 W}, or a list of sizes", one);
  }

  void cable(const YamlView& view, CablePrices& into, std::vector<Sized<CablePrices>>& sizes) {
    const auto one = [&](const YamlView& from, CablePrices& cable, bool is_sized) {
      cable.price = price(from["price"], PricedUnit::piece);
      cable.has_price = from["price"].exists();
      if (from["optics"].exists()) cable.optics = static_cast<int>(from["optics"].integer(0, 2));
      if (!is_sized) from.refuse_unknown_keys();
    };
    each(view, into, sizes, false, "such as {price: 300 USD, optics: 2}, or a list of sizes", one);
  }

  /// Nothing where it is no single value, which is a problem by then.
  [[nodiscard]] std::optional<std::string> text_of(const YamlView& view) const {
    const auto before = problems_.size();
    auto text = view.text();
    if (problems_.size() > before) return std::nullopt;
    return text;
  }

  [[nodiscard]] ChipPower power(const YamlView& view) const {
    const std::string expected = "such as {idle: 100 W, communicate: 350 W, compute: 700 W}";
    if (!view.expect_map(expected)) return {};
    const auto before = problems_.size();
    const ChipPower power{watts(view.require("idle", expected)), watts(view.require("communicate", expected)),
                          watts(view.require("compute", expected))};
    if (problems_.size() == before && (power.idle > power.compute || power.communicate > power.compute))
      view.problem("a chip draws more than while it computes", "compute as the largest of the three");
    view.refuse_unknown_keys();
    return power;
  }

 private:
  /// `one` reads what a part has of any size.
  template <class Priced, class Read>
  void each(const YamlView& view, Priced& into, std::vector<Sized<Priced>>& sizes, bool has_ports,
            const std::string& expected, Read one) {
    if (!view.exists()) return;
    if (!view.is_list()) {
      if (view.expect_map(expected)) one(view, into, false);
      return;
    }
    if (view.items().empty()) view.problem("has no sizes", expected);
    for (const auto& item : view.items()) {
      const std::string sized = has_ports ? "{ports: 64, rate: 400 Gbps, price: 30000 USD, power: 1.2 kW}"
                                          : "{rate: 400 Gbps, price: 700 USD}";
      if (!item.expect_map("such as " + sized)) continue;
      Sized<Priced> size;
      const auto rate = item.require("rate", "the rate of a port, as in " + sized);
      if (rate.exists()) size.rate = rate.bytes_per_second();
      if (has_ports) {
        const auto ports = item.require("ports", "the ports of the switch, as in " + sized);
        if (ports.exists()) size.ports = ports.integer(1, 1'000'000);
      }
      (void)item.require("price", "its price, as in " + sized);
      one(item, size.part, true);
      item.refuse_unknown_keys();
      sizes.push_back(std::move(size));
    }
  }

  PriceList& list_;
  const Problems& problems_;
};

void read_chips(const YamlView& view, Reader& reader, PriceList& list) {
  const std::string expected = "chips by name, such as {h100: {hour: 2.50 USD/h}}";
  if (!view.exists() || !view.expect_map(expected)) return;
  for (const auto& name : view.keys()) {
    const auto one = view[name];
    if (!one.expect_map("such as {hour: 2.50 USD/h, power: {...}}")) continue;
    auto& chip = list.chips[name];
    const auto hour = one["hour"], power = one["power"];
    if (hour.exists()) chip.hour = reader.price(hour, PricedUnit::hour);
    if (power.exists()) chip.power = reader.power(power);
    one.refuse_unknown_keys();
  }
}

std::optional<NetworkPrices> read_network(const YamlView& view, Reader& reader) {
  if (!view.exists() || !view.expect_map("such as {lifetime: 4 years, switch: {price: 30000 USD}}")) return {};
  NetworkPrices network;
  network.at = view.where();
  network.path = view.path();
  const auto lifetime = view.require("lifetime", "the time over which the network is written off, such as 4 years");
  if (lifetime.exists()) network.lifetime = lifetime.seconds();
  reader.part(view["nic"], network.nic, network.nics);
  reader.part(view["switch"], network.network_switch, network.switches, true);
  reader.part(view["optic"], network.optic, network.optics);
  reader.cable(view["host_cable"], network.host_cable, network.host_cables);
  reader.cable(view["switch_cable"], network.switch_cable, network.switch_cables);
  network.switch_optic = network.optic;
  std::vector<Sized<CablePrices>> torus_cables;
  reader.cable(view["torus_cable"], network.torus_cable, torus_cables);
  if (!torus_cables.empty())
    view["torus_cable"].problem("is a list of sizes", "one size: a torus has links of one rate");
  view.refuse_unknown_keys();
  return network;
}

void read_networks(const YamlView& view, Reader& reader, PriceList& list) {
  if (!view.exists() || !view.expect_map("fabrics by name, each as network is")) return;
  for (const auto& name : view.keys()) {
    if (const auto network = read_network(view[name], reader)) list.networks[name] = *network;
  }
}

void read_energy(const YamlView& view, Reader& reader, PriceList& list) {
  if (!view.exists() || !view.expect_map("such as {price: 0.08 USD/kWh, pue: 1.2, carbon: 350 g/kWh}")) return;
  const auto price = view["price"], pue = view["pue"], carbon = view["carbon"];
  if (price.exists()) list.kilowatt_hour = reader.price(price, PricedUnit::kilowatt_hour);
  if (pue.exists()) list.pue = pue.number(1, 10);
  if (carbon.exists()) {
    if (const auto text = reader.text_of(carbon)) {
      const auto parsed = parse_grams_per_kilowatt_hour(*text);
      if (const auto* error = std::get_if<QuantityError>(&parsed))
        carbon.problem(error->what, error->expected);
      else
        list.grams_per_kilowatt_hour = std::get<double>(parsed);
    }
  }
  view.refuse_unknown_keys();
}

}  // namespace

const NetworkPrices* PriceList::network_of(const std::string& fabric) const {
  const auto named = networks.find(fabric);
  if (named != networks.end()) return &named->second;
  return network ? &*network : nullptr;
}

PriceList read_price_list(const std::filesystem::path& file) {
  Problems problems;
  const auto root = YamlView::from_file(file, problems);
  PriceList list;
  if (root.exists() && root.expect_map("chips, hosts, network and energy with their prices")) {
    Reader reader(list, problems);
    const auto chips = root["chips"];
    list.chips_at = chips.exists() ? chips.where() : root.where();
    read_chips(chips, reader, list);
    const auto host = root["host"];
    if (host.exists() && host.expect_map("such as {power: 1.8 kW}")) {
      if (host["power"].exists()) list.host = reader.watts(host["power"]);
      host.refuse_unknown_keys();
    }
    list.network = read_network(root["network"], reader);
    read_networks(root["networks"], reader, list);
    read_energy(root["energy"], reader, list);
    root.refuse_unknown_keys();
  }
  problems.throw_if_any();
  return list;
}

const std::map<std::string, ChipPower>& catalog_powers() {
  static const auto powers = [] {
    Problems problems;
    const auto root = YamlView::from_file(scenario::data_root() / "topologies/catalog/powers.yaml", problems);
    PriceList none;
    const Reader reader(none, problems);
    std::map<std::string, ChipPower> read;
    for (const auto& name : root.keys()) {
      if (name != "sources") read[name] = reader.power(root[name]);
    }
    problems.throw_if_any();
    return read;
  }();
  return powers;
}

}  // namespace lockstep::economics
