#include "topologies/graph/switch_levels.hpp"

#include <cstdint>

namespace lockstep::topologies {
namespace {

struct CablesOfSwitch {
  std::int64_t to_hosts = 0;
  std::int64_t to_switches = 0;
  std::vector<std::pair<SwitchId, int>> neighbours;  ///< with the number of cables

  [[nodiscard]] double share_of_hosts() const {
    return to_hosts == 0 ? 0 : static_cast<double>(to_hosts) / static_cast<double>(to_hosts + to_switches);
  }
};

using CablesOfSwitches = Indexed<SwitchId, CablesOfSwitch>;

void add_cable(const CableEnd& here, const CableEnd& there, int count, CablesOfSwitches& switches) {
  const auto* from = std::get_if<SwitchEnd>(&here);
  if (from == nullptr) return;
  CablesOfSwitch& cables = switches[from->network_switch];
  if (const auto* to = std::get_if<SwitchEnd>(&there)) {
    cables.to_switches += count;
    cables.neighbours.emplace_back(to->network_switch, count);
  } else {
    cables.to_hosts += count;
  }
}

/// Whether a switch that has hosts is above leaves all the same.
bool is_above_leaves(const CablesOfSwitch& cables, const CablesOfSwitches& switches) {
  std::int64_t to_leaves = 0;
  for (const auto& [neighbour, count] : cables.neighbours)
    to_leaves += switches[neighbour].share_of_hosts() >= 2 * cables.share_of_hosts() ? count : 0;
  return 2 * to_leaves > cables.to_switches;
}

}  // namespace

Indexed<SwitchId, int> switch_levels(const NetworkGraph& graph) {
  CablesOfSwitches switches(graph.switches.size());
  for (const Cable& cable : graph.cables) {
    add_cable(cable.from, cable.to, cable.count, switches);
    add_cable(cable.to, cable.from, cable.count, switches);
  }
  constexpr int unknown = 0;
  Indexed<SwitchId, int> levels(graph.switches.size(), unknown);
  std::vector<SwitchId> reached;
  for (const SwitchId id : switches.ids()) {
    if (switches[id].to_hosts == 0 || is_above_leaves(switches[id], switches)) continue;
    levels[id] = 1;
    reached.push_back(id);
  }
  for (std::size_t next = 0; next < reached.size(); ++next) {
    for (const auto& [neighbour, count] : switches[reached[next]].neighbours) {
      if (levels[neighbour] != unknown) continue;
      levels[neighbour] = levels[reached[next]] + 1;
      reached.push_back(neighbour);
    }
  }
  return levels;
}

}  // namespace lockstep::topologies
