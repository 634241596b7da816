#include <algorithm>
#include <cmath>
#include <tuple>

#include "topologies/graph/host_list.hpp"
#include "topologies/graph/network_builder_private.hpp"
#include "topologies/graph/network_parts.hpp"

namespace lockstep::topologies {
namespace {

constexpr std::size_t most_problems = 200;
constexpr BytesPerSecond least_rate(1e3);  // a step of a gigabyte would take eleven days
constexpr Seconds most_latency(1);

/// Adapters of hosts before switches, each by number.
std::tuple<int, int, int> place_of(const CableEnd& end) {
  if (const auto* adapter = std::get_if<AdapterEnd>(&end)) return {0, adapter->host, adapter->adapter};
  return {1, std::get<SwitchEnd>(end).network_switch, 0};
}

auto order_of(const Cable& cable) {
  const double rate = cable.rate ? cable.rate->value() : 0;
  const double latency = cable.latency ? cable.latency->value() : -1;
  return std::tuple(place_of(cable.from), place_of(cable.to), rate, latency, std::string_view(cable.label));
}

}  // namespace

void NetworkBuilder::problem(TextPlace place, std::string key, std::string what, std::string expected) {
  if (gives_up()) return;
  if (place.line > 0 && !problems_.empty()) {  // a list that is wrong in the same way for each of its names
    const Problem& last = problems_.list().back();
    if (last.where.line == place.line && last.where.column == place.column && last.key == key && last.what == what)
      return;
  }
  problems_.add({{file_, place.line, place.column}, std::move(key), std::move(what), std::move(expected)});
}

bool NetworkBuilder::gives_up() const { return too_large_ || problems_.size() >= most_problems; }

void NetworkBuilder::refuse_size(TextPlace place, std::size_t most, const std::string& things) {
  problem(place, "", "the network is too large", "at most " + std::to_string(most) + " " + things);
  too_large_ = true;
}

std::vector<std::string> NetworkBuilder::expand(std::string_view list, TextPlace place, const std::string& key) {
  auto names = expand_names(list, std::min(most_network_nodes, names_left_));
  if (auto* good = std::get_if<std::vector<std::string>>(&names)) {
    names_left_ -= good->size();
    return std::move(*good);
  }
  const auto& error = std::get<QuantityError>(names);
  if (names_left_ < most_network_nodes && error.what.starts_with("has more than"))
    refuse_size(place, most_listed_names, "names in all lists together");
  else
    problem(place, key, "'" + std::string(list) + "' " + error.what, error.expected);
  return {};
}

bool NetworkBuilder::add_name(const std::string& name, CableEnd end, TextPlace place) {
  if (name.empty()) {
    problem(place, "", "the name is empty", "a name such as gpu-017");
    return false;
  }
  if (ends_.size() == most_network_nodes) {
    refuse_size(place, most_network_nodes, "hosts and switches");
    return false;
  }
  if (ends_.emplace(name, end).second) return true;
  if (place.line == 0 || place.line != twice_.line || place.column != twice_.column)  // once for a list of names
    problem(place, "", "'" + name + "' appears twice", "each host and switch once");
  twice_ = place;
  return false;
}

std::optional<HostId> NetworkBuilder::add_host(const std::string& name, TextPlace place) {
  const HostId id = graph_.hosts.next_id();
  if (!add_name(name, AdapterEnd{id, 0}, place)) return std::nullopt;
  graph_.hosts.push_back({name, {}});
  return id;
}

std::optional<SwitchId> NetworkBuilder::add_switch(const std::string& name, TextPlace place) {
  const SwitchId id = graph_.switches.next_id();
  if (!add_name(name, SwitchEnd{id}, place)) return std::nullopt;
  graph_.switches.push_back({name});
  return id;
}

std::optional<CableEnd> NetworkBuilder::find(std::string_view name) const {
  const auto found = ends_.find(name);
  return found == ends_.end() ? std::nullopt : std::optional(found->second);
}

AdapterEnd NetworkBuilder::add_adapter(HostId host, std::string name) {
  auto& adapters = graph_.hosts[host].adapters;
  if (adapters_ == most_cable_ends) {
    refuse_size({}, most_cable_ends, "adapters");
    return {host, 0};
  }
  ++adapters_;
  adapters.push_back(name.empty() ? "nic" + std::to_string(adapters.size()) : std::move(name));
  return {host, static_cast<int>(adapters.size()) - 1};
}

void NetworkBuilder::connect(Cable cable, TextPlace place) {
  if (place_of(cable.to) < place_of(cable.from)) std::swap(cable.from, cable.to);
  const auto *from = std::get_if<SwitchEnd>(&cable.from), *to = std::get_if<SwitchEnd>(&cable.to);
  if (from != nullptr && from->network_switch == to->network_switch) {
    return problem(place, "", "a cable joins two ports of '" + graph_.switches[from->network_switch].name + "'",
                   "a cable between two switches, or a host and a switch");
  }
  if (to == nullptr && std::get<AdapterEnd>(cable.from).host == std::get<AdapterEnd>(cable.to).host) {
    return problem(place, "",
                   "a cable joins two adapters of '" + graph_.hosts[std::get<AdapterEnd>(cable.from).host].name + "'",
                   "a cable between two hosts, or a host and a switch");
  }
  if (cable.rate && !(cable.rate->value() > 0)) return problem(place, "rate", "is zero", "a rate such as 400 Gbps");
  if (cable.rate && *cable.rate < least_rate)
    return problem(place, "rate", "is below 8 kbps", "a rate such as 400 Gbps");
  if (cable.latency && *cable.latency > most_latency)
    return problem(place, "latency", "is above 1 s", "the latency of one cable, such as 500 ns");
  if (cable.count < 1 || cable.count > most_parallel_cables)
    return problem(place, "count", std::to_string(cable.count) + " is no number of cables",
                   "1 to " + std::to_string(most_parallel_cables));
  if (graph_.cables.size() == most_cable_ends) return refuse_size(place, most_cable_ends, "pairs that cables join");
  if (cable.latency) cable.latency = Seconds(std::abs(cable.latency->value()));  // -0 is 0
  graph_.cables.push_back(std::move(cable));
}

void NetworkBuilder::sort_and_fold() {
  auto& cables = graph_.cables;
  std::stable_sort(cables.begin(), cables.end(),
                   [](const Cable& one, const Cable& other) { return order_of(one) < order_of(other); });
  std::vector<Cable> folded;
  for (Cable& cable : cables) {
    if (folded.empty() || order_of(folded.back()) != order_of(cable))
      folded.push_back(std::move(cable));
    else
      folded.back().count = std::min(folded.back().count + cable.count, most_parallel_cables);
  }
  cables = std::move(folded);
}

void NetworkBuilder::check_hosts() {
  if (graph_.hosts.empty()) return problem({}, "", "has no host", "a network with hosts, switches and cables");
  Indexed<HostId, char> has_cable(graph_.hosts.count());
  const auto mark = [&](const CableEnd& end) {
    if (const auto* adapter = std::get_if<AdapterEnd>(&end)) has_cable[adapter->host] = 1;
  };
  for (const Cable& cable : graph_.cables) mark(cable.from), mark(cable.to);
  std::vector<std::string> without;
  for (const HostId host : graph_.hosts.ids()) {
    if (has_cable[host] == 0) without.push_back(graph_.hosts[host].name);
  }
  if (!without.empty()) {
    problem({}, "", counted(without.size(), "host") + " without a cable: " + some_of(without),
            "a cable of every host; the file may be cut off");
  }
}

NetworkGraph NetworkBuilder::finish() {
  sort_and_fold();
  if (!problems_.empty()) return std::move(graph_);
  check_hosts();
  if (!problems_.empty()) return std::move(graph_);
  const NetworkParts parts = network_parts(graph_);
  if (parts.size() > 1) {
    std::vector<std::string> sides;
    for (const NetworkPart& part : parts)
      sides.push_back(counted(part.hosts, "host") + " such as '" + graph_.hosts[part.example].name + "'");
    problem({}, "",
            "the network is in " + std::to_string(parts.size()) +
                " parts without a cable between them: " + some_of(sides, 2),
            "a network in which every host reaches every other");
  }
  return std::move(graph_);
}

std::string counted(std::size_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

}  // namespace lockstep::topologies
