#include "topologies/graph/network_levels.hpp"

#include "sim/core/quantity_text.hpp"
#include "topologies/graph/switch_levels.hpp"

namespace lockstep::topologies {
namespace {

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
  levels.level = switch_levels(graph);
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
