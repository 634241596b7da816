#pragma once
/// What a network is made of, seen from its hosts: levels of switches, over-subscription, speeds of cables.
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "topologies/graph/network_graph.hpp"

namespace lockstep::topologies {

/// Cables of a switch by where they lead, and what they carry one way.
struct SwitchCables {
  std::int64_t down = 0;   ///< to hosts and to switches of lower levels
  std::int64_t up = 0;     ///< to switches of higher levels
  std::int64_t level = 0;  ///< to switches of its own level
  /// What cables carry; none where the rate of any of them is unknown.
  std::optional<BytesPerSecond> down_rate, up_rate;

  /// Over-subscription: what comes up from below over what goes on upward; none for a switch without uplinks. Numbers
  /// of cables stand for rates that are unknown.
  [[nodiscard]] std::optional<double> ratio() const;
};

struct NetworkLevels {
  Indexed<SwitchId, int> level;  ///< 1: a leaf; 0: no host reaches the switch
  Indexed<SwitchId, SwitchCables> cables;
};

/// Levels as switch_levels.hpp defines them.
[[nodiscard]] NetworkLevels network_levels(const NetworkGraph& graph);

/// Cables by what the file calls their speed, or by rate, "400 Gb/s", or "unknown".
[[nodiscard]] std::map<std::string, std::int64_t> cables_by_speed(const NetworkGraph& graph);
/// All cables, parallel ones one by one.
[[nodiscard]] std::int64_t count_cables(const NetworkGraph& graph);
[[nodiscard]] std::int64_t count_adapters(const NetworkGraph& graph);

}  // namespace lockstep::topologies
