#include "topologies/graph/network_levels.hpp"

#include <algorithm>

#include "sim/core/quantity_text.hpp"

namespace lockstep::topologies {
namespace {

struct Neighbour {
  SwitchId at = 0;
  std::int64_t cables = 0;
};

/// Cables of each switch to hosts, and its neighbours.
struct Switches {
  Indexed<SwitchId, std::int64_t> to_hosts;
  Indexed<SwitchId, std::int64_t> all;
  Indexed<SwitchId, std::vector<Neighbour>> neighbours;

  explicit Switches(const NetworkGraph& graph)
      : to_hosts(graph.switches.count()), all(graph.switches.count()), neighbours(graph.switches.count()) {
    for (const Cable& cable : graph.cables) {
      add(cable.from, cable.to, cable.count);
      add(cable.to, cable.from, cable.count);
    }
  }

  [[nodiscard]] double share_of_hosts(SwitchId id) const {
    return static_cast<double>(to_hosts[id]) / static_cast<double>(std::max<std::int64_t>(all[id], 1));
  }

  [[nodiscard]] bool is_leaf(SwitchId id) const {
    if (to_hosts[id] == 0) return false;
    std::int64_t to_leaves = 0;
    for (const auto& [at, cables] : neighbours[id]) {
      if (share_of_hosts(at) > 2 * share_of_hosts(id)) to_leaves += cables;
    }
    return to_leaves * 3 < all[id];
  }

 private:
  void add(const CableEnd& from, const CableEnd& to, int cables) {
    const auto* at = std::get_if<SwitchEnd>(&from);
    if (at == nullptr) return;
    const SwitchId id = at->network_switch;
    all[id] += cables;
    if (const auto* next = std::get_if<SwitchEnd>(&to))
      neighbours[id].push_back({next->network_switch, cables});
    else
      to_hosts[id] += cables;
  }
};

Indexed<SwitchId, int> levels_of(const Switches& switches) {
  Indexed<SwitchId, int> level(switches.all.count());
  std::vector<SwitchId> reached;
  for (const SwitchId id : level.ids()) {
    if (!switches.is_leaf(id)) continue;
    level[id] = 1;
    reached.push_back(id);
  }
  for (std::size_t next = 0; next < reached.size(); ++next) {
    for (const auto& [at, cables] : switches.neighbours[reached[next]]) {
      if (level[at] != 0) continue;
      level[at] = level[reached[next]] + 1;
      reached.push_back(at);
    }
  }
  return level;
}

void add_rate(std::optional<BytesPerSecond>& sum, const Cable& cable) {
  if (sum && cable.rate)
    *sum += *cable.rate * cable.count;
  else
    sum.reset();
}

}  // namespace

std::optional<double> SwitchCables::ratio() const {
  if (up == 0) return std::nullopt;
  if (down_rate && up_rate) return *down_rate / *up_rate;
  return static_cast<double>(down) / static_cast<double>(up);
}

NetworkLevels network_levels(const NetworkGraph& graph) {
  NetworkLevels levels;
  levels.level = levels_of(Switches(graph));
  levels.cables.resize(graph.switches.count());
  for (SwitchCables& cables : levels.cables) cables.down_rate = cables.up_rate = BytesPerSecond(0);
  const auto level_of = [&](const CableEnd& end) {
    const auto* at = std::get_if<SwitchEnd>(&end);
    return at == nullptr ? -1 : levels.level[at->network_switch];
  };
  const auto add = [&](const CableEnd& from, const CableEnd& to, const Cable& cable) {
    const auto* at = std::get_if<SwitchEnd>(&from);
    if (at == nullptr) return;
    SwitchCables& cables = levels.cables[at->network_switch];
    const int here = level_of(from), there = level_of(to);
    (there < here ? cables.down : there > here ? cables.up : cables.level) += cable.count;
    if (there != here) add_rate(there < here ? cables.down_rate : cables.up_rate, cable);
  };
  for (const Cable& cable : graph.cables) {
    add(cable.from, cable.to, cable);
    add(cable.to, cable.from, cable);
  }
  return levels;
}

std::map<std::string, std::int64_t> cables_by_speed(const NetworkGraph& graph) {
  std::map<std::string, std::int64_t> speeds;
  for (const Cable& cable : graph.cables) {
    std::string speed = cable.label;
    if (speed.empty()) speed = cable.rate ? exact(cable.rate->value() * 8 / 1e9) + " Gb/s" : "unknown";
    speeds[speed] += cable.count;
  }
  return speeds;
}

std::int64_t count_cables(const NetworkGraph& graph) {
  std::int64_t sum = 0;
  for (const Cable& cable : graph.cables) sum += cable.count;
  return sum;
}

std::int64_t count_adapters(const NetworkGraph& graph) {
  std::int64_t sum = 0;
  for (const NetworkHost& host : graph.hosts) sum += std::ssize(host.adapters);
  return sum;
}

}  // namespace lockstep::topologies
