#include "topologies/graph/write_network.hpp"

#include <array>
#include <cstdio>
#include <map>
#include <tuple>

#include "sim/core/quantity_text.hpp"
#include "sim/core/yaml_text.hpp"
#include "topologies/graph/host_list.hpp"

namespace lockstep::topologies {
namespace {

/// A text of few digits that reads back as the same double, in the first unit that has one.
template <class Value, class Parse>
std::string exact_text(Value value, const auto& units, Parse parse) {
  for (const auto& [unit, size] : units) {
    for (const int digits : {3, 6, 9}) {
      std::array<char, 32> number{};
      std::snprintf(number.data(), number.size(), "%.*g", digits, value.value() / size);
      std::string text = std::string(number.data()) + " " + unit;
      if (text.find('e') != std::string::npos) continue;
      const auto read = parse(text);
      const auto* same = std::get_if<Value>(&read);
      if (same != nullptr && *same == value) return text;
    }
  }
  return exact(value.value()) + " " + units.back().first;
}

std::string rate_text(BytesPerSecond rate) {
  constexpr std::array<std::pair<const char*, double>, 3> units{{{"Gbps", 125e6}, {"GB/s", 1e9}, {"B/s", 1}}};
  return exact_text(rate, units, parse_bytes_per_second);
}

std::string latency_text(Seconds latency) {
  constexpr std::array<std::pair<const char*, double>, 4> units{{{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
  return exact_text(latency, units, parse_seconds);
}

/// What follows the two ends of a link: ", rate: 400 Gbps".
std::string attributes(const Cable& cable) {
  std::string text;
  if (cable.count > 1) text += ", count: " + std::to_string(cable.count);
  if (cable.rate) text += ", rate: " + rate_text(*cable.rate);
  if (cable.latency) text += ", latency: " + latency_text(*cable.latency);
  if (!cable.label.empty()) text += ", label: " + in_one_line(cable.label);
  return text;
}

/// Groups of values by key, in the order in which the keys were first met.
template <class Key, class Value>
class Groups {
 public:
  std::vector<Value>& operator[](const Key& key) {
    const auto [found, is_new] = position_.emplace(key, groups_.size());
    if (is_new) groups_.emplace_back(key, std::vector<Value>());
    return groups_[found->second].second;
  }
  [[nodiscard]] auto begin() const { return groups_.begin(); }
  [[nodiscard]] auto end() const { return groups_.end(); }

 private:
  std::map<Key, std::size_t> position_;
  std::vector<std::pair<Key, std::vector<Value>>> groups_;
};

class Writer {
 public:
  explicit Writer(const NetworkGraph& graph) : graph_(graph) {}

  std::string text() {
    if (!graph_.name.empty()) text_ += "network: " + in_one_line(graph_.name) + "\n";
    write_hosts();
    write_switches();
    write_links();
    return std::move(text_);
  }

 private:
  /// Neighbours that have the same adapters.
  void write_hosts() {
    text_ += "hosts:\n";
    for (HostId first = 0; first < graph_.hosts.count();) {
      std::vector<std::string> names;
      HostId last = first;
      for (; last < graph_.hosts.count() && graph_.hosts[last].adapters == graph_.hosts[first].adapters; ++last)
        names.push_back(graph_.hosts[last].name);
      text_ += "  - {names: " + in_one_line(fold_names(names)) + ", adapters: " + adapters_of(first) + "}\n";
      first = last;
    }
  }

  [[nodiscard]] std::string adapters_of(HostId host) const {
    const auto& adapters = graph_.hosts[host].adapters;
    bool usual = true;
    for (std::size_t i = 0; i < adapters.size(); ++i) usual = usual && adapters[i] == "nic" + std::to_string(i);
    if (usual) return std::to_string(adapters.size());
    const std::string list = fold_names(adapters);
    return list.find_first_not_of("0123456789") == std::string::npos ? "'\\" + list + "'" : in_one_line(list);
  }

  void write_switches() {
    if (graph_.switches.empty()) return;
    std::vector<std::string> names;
    for (const NetworkSwitch& one : graph_.switches) names.push_back(one.name);
    text_ += "switches:\n  - " + in_one_line(fold_names(names)) + "\n";
  }

  using Adapter = std::optional<int>;  ///< of a host; none: the end is a switch
  [[nodiscard]] std::pair<std::string, Adapter> parts_of(const CableEnd& end) const {
    if (const auto* adapter = std::get_if<AdapterEnd>(&end))
      return {graph_.hosts[adapter->host].name, adapter->adapter};
    return {graph_.switches[std::get<SwitchEnd>(end).network_switch].name, std::nullopt};
  }

  [[nodiscard]] std::string adapter_name(const CableEnd& end) const {
    const auto* adapter = std::get_if<AdapterEnd>(&end);
    return adapter == nullptr ? "" : graph_.hosts[adapter->host].adapters[position_of(adapter->adapter)];
  }

  /// First all that leads to one end from adapters of one name, then adapters of the same hosts, then ends that are
  /// reached from the same hosts.
  void write_links() {
    using Names = std::vector<std::string>;
    Groups<std::tuple<std::string, std::string, std::string, std::string>, std::string> sources;
    for (const Cable& cable : graph_.cables)
      sources[{adapter_name(cable.from), parts_of(cable.to).first, adapter_name(cable.to), attributes(cable)}]
          .push_back(parts_of(cable.from).first);
    Groups<std::tuple<Names, std::string, std::string, std::string>, std::string> adapters;
    for (const auto& [key, from] : sources) {
      const auto& [adapter, to, to_adapter, rest] = key;
      adapters[{from, to, to_adapter, rest}].push_back(adapter);
    }
    Groups<std::tuple<Names, Names, std::string, std::string>, std::string> targets;
    for (const auto& [key, adapter] : adapters) {
      const auto& [from, to, to_adapter, rest] = key;
      targets[{from, adapter, to_adapter, rest}].push_back(to);
    }
    text_ += "links:\n";
    for (const auto& [key, to] : targets) {
      const auto& [from, adapter, to_adapter, rest] = key;
      text_ += "  - {from: " + in_one_line(fold_names(from));
      if (!adapter.front().empty()) text_ += ", adapter: " + in_one_line(fold_names(adapter));
      text_ += ", to: " + in_one_line(fold_names(to));
      if (!to_adapter.empty()) text_ += ", to_adapter: " + in_one_line(fold_names({to_adapter}));
      text_ += rest + "}\n";
    }
  }

  const NetworkGraph& graph_;
  std::string text_;
};

}  // namespace

std::string network_yaml(const NetworkGraph& graph) { return Writer(graph).text(); }

}  // namespace lockstep::topologies
