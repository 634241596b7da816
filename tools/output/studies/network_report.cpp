#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "sim/core/counted.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/studies/import_notes_private.hpp"
#include "tools/output/studies/import_report.hpp"
#include "topologies/graph/host_list.hpp"
#include "topologies/graph/network_levels.hpp"

namespace lockstep::output {
namespace {

using Json = nlohmann::ordered_json;
using topologies::NetworkGraph;
using topologies::NetworkLevels;
using topologies::SwitchId;

constexpr std::size_t most_rows = 40, widest_name = 42;

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

/// How switches of the same numbers are named, a row for each text: a list where it is short. Otherwise those that are
/// over-subscribed one by one, and of others the first.
std::vector<std::string> names_text(std::vector<std::string> names, double ratio) {
  std::sort(names.begin(), names.end(), topologies::natural_less);
  if (const std::string list = topologies::fold_names(names); names.size() == 1 || list.size() <= widest_name)
    return {list};
  if (ratio > 1) return names;
  return {names.front() + " ..."};
}

/// The most over-subscribed switches first.
std::string oversubscription_text(const NetworkGraph& graph, const NetworkLevels& levels) {
  std::map<std::tuple<double, int, std::int64_t, std::int64_t>, std::vector<SwitchId>> alike;
  for (const SwitchId id : graph.switches.ids()) {
    const topologies::SwitchCables& cables = levels.cables[id];
    if (cables.ratio()) alike[{-*cables.ratio(), levels.level[id], cables.down, cables.up}].push_back(id);
  }
  if (alike.empty()) return "";
  Table table({"over-subscription", "count", "level", "down", "up", "down : up"});
  table.fold(widest_name, 0);
  std::size_t rows = 0;
  for (const auto& [key, ids] : alike) {
    std::vector<std::string> names;
    for (const SwitchId id : ids) names.push_back(graph.switches[id].name);
    const topologies::SwitchCables& cables = levels.cables[ids.front()];
    const auto texts = names_text(std::move(names), *cables.ratio());
    for (const std::string& text : texts) {
      if (++rows > most_rows) continue;
      const std::int64_t switches = texts.size() > 1 ? 1 : std::ssize(ids);
      table.add({text, number(switches), std::to_string(levels.level[ids.front()]), number(cables.down),
                 number(cables.up), fixed(*cables.ratio(), 2)});
    }
  }
  const std::string more =
      rows > most_rows ? "... and " + counted(rows - most_rows, "row") + " with less: --json\n" : "";
  return "\n" + table.to_string() + more;
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
  Json json = {{"file_format", import.format},
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
  return json_document(json);
}

}  // namespace lockstep::output
