#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/output/import_notes_private.hpp"
#include "tools/output/import_report.hpp"
#include "tools/output/json_lines.hpp"
#include "tools/output/table.hpp"
#include "topologies/graph/network_levels.hpp"

namespace lockstep::output {
namespace {

using Json = nlohmann::ordered_json;
using topologies::NetworkGraph;
using topologies::NetworkLevels;
using topologies::SwitchId;

constexpr std::size_t most_rows = 40, widest_name = 44;

std::string number(std::int64_t value) { return with_separators(static_cast<double>(value)); }

std::map<int, std::int64_t> switches_by_level(const NetworkLevels& levels) {
  std::map<int, std::int64_t> count;
  for (const int level : levels.level) ++count[level];
  return count;
}

std::string levels_text(const NetworkLevels& levels) {
  if (levels.level.empty()) return "";
  Table table({"level", "switches", "cables down", "up", "within the level"});
  for (const auto& [level, count] : switches_by_level(levels)) {
    topologies::SwitchCables sum;
    for (const SwitchId id : levels.level.ids()) {
      if (levels.level[id] != level) continue;
      sum.down += levels.cables[id].down;
      sum.up += levels.cables[id].up;
      sum.level += levels.cables[id].level;
    }
    table.add({level == 0   ? "no host"
               : level == 1 ? "1 (leaves)"
                            : std::to_string(level),
               number(count), number(sum.down), number(sum.up), number(sum.level)});
  }
  return "\n" + table.to_string();
}

std::string speeds_text(const NetworkGraph& graph) {
  Table table({"speed", "cables"});
  for (const auto& [speed, cables] : cables_by_speed(graph)) table.add({speed, number(cables)});
  return "\n" + table.to_string();
}

/// The most over-subscribed switches first.
std::string oversubscription_text(const NetworkGraph& graph, const NetworkLevels& levels) {
  std::vector<SwitchId> order;
  for (const SwitchId id : graph.switches.ids()) {
    if (levels.cables[id].ratio()) order.push_back(id);
  }
  if (order.empty()) return "";
  std::stable_sort(order.begin(), order.end(), [&](SwitchId one, SwitchId other) {
    return *levels.cables[one].ratio() > *levels.cables[other].ratio();
  });
  Table table({"over-subscription", "level", "cables down", "up", "down : up"});
  table.fold(widest_name, 0);
  for (std::size_t i = 0; i < std::min(order.size(), most_rows); ++i) {
    const topologies::SwitchCables& cables = levels.cables[order[i]];
    table.add({graph.switches[order[i]].name, std::to_string(levels.level[order[i]]), number(cables.down),
               number(cables.up), fixed(*cables.ratio(), 2)});
  }
  std::string text = "\n" + table.to_string();
  if (order.size() > most_rows)
    text += "... and " + counted(order.size() - most_rows, "switch", "switches") + " with less: --json\n";
  return text;
}

Json oversubscription_json(const NetworkGraph& graph, const NetworkLevels& levels) {
  Json switches = Json::object();
  for (const SwitchId id : graph.switches.ids()) {
    const topologies::SwitchCables& cables = levels.cables[id];
    Json one = {{"level", levels.level[id]}, {"down", cables.down}, {"up", cables.up}, {"within_level", cables.level}};
    one["ratio"] = cables.ratio() ? Json(*cables.ratio()) : Json(nullptr);
    one["down_bytes_per_s"] = cables.down_rate ? Json(cables.down_rate->value()) : Json(nullptr);
    one["up_bytes_per_s"] = cables.up_rate ? Json(cables.up_rate->value()) : Json(nullptr);
    switches[graph.switches[id].name] = std::move(one);
  }
  return switches;
}

}  // namespace

std::string network_text(const topologies::NetworkImport& import) {
  const NetworkGraph& graph = import.graph;
  const NetworkLevels levels = network_levels(graph);
  std::string text = visible(graph.name) + " (" + import.format + "): " + counted(graph.hosts.size(), "host") + ", " +
                     counted(count_adapters(graph), "adapter") + ",\n" +
                     counted(graph.switches.size(), "switch", "switches") + ", " +
                     counted(count_cables(graph), "cable") + "; every host reaches every other\n";
  return text + levels_text(levels) + speeds_text(graph) + oversubscription_text(graph, levels) +
         notes_text(import.notes);
}

std::string network_json(const topologies::NetworkImport& import) {
  const NetworkGraph& graph = import.graph;
  const NetworkLevels levels = network_levels(graph);
  Json json = {{"format", import.format},
               {"name", graph.name},
               {"switches", graph.switches.size()},
               {"hosts", graph.hosts.size()},
               {"adapters", count_adapters(graph)},
               {"cables", count_cables(graph)},
               {"switches_by_level", Json::object()},
               {"cables_by_speed", Json::object()},
               {"oversubscription", oversubscription_json(graph, levels)},
               {"notes", import.notes}};
  for (const auto& [level, count] : switches_by_level(levels)) json["switches_by_level"][std::to_string(level)] = count;
  for (const auto& [speed, cables] : cables_by_speed(graph)) json["cables_by_speed"][speed] = cables;
  return json_lines(json);
}

}  // namespace lockstep::output
