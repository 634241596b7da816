#include <nlohmann/json.hpp>

#include "sim/core/counted.hpp"
#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/memory_verdict.hpp"
#include "tools/output/studies/placement_report.hpp"
#include "topologies/graph/host_list.hpp"

namespace lockstep::output {
namespace {

using Json = nlohmann::ordered_json;
using place_ranks::PlacedRanks;
using place_ranks::UnitOrder;

const topologies::GivenNetwork* given_network(const scenario::Scenario& scenario) {
  return std::get_if<topologies::GivenNetwork>(&scenario.cluster.fabric.kind);
}

std::vector<std::string> hosts_of(const topologies::GivenNetwork& given, const UnitOrder& order) {
  std::vector<std::string> names;
  for (const int unit : order) {
    const auto host = given.hosts.empty() ? unit : given.hosts[static_cast<std::size_t>(unit)];
    names.push_back(given.graph->hosts[host].name);
  }
  return names;
}

std::string change(Seconds from, Seconds to) { return to < from ? percent(1 - to / from) + " shorter" : "no shorter"; }

/// "3, 1, 4, 2, ..."
std::string units_text(const UnitOrder& order) {
  constexpr std::size_t most = 64;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(order[i]);
  return text + (order.size() > most ? ", ..." : "");
}

Json parts_json(const place_ranks::PlacementUse& use) {
  return {{"given_compute_s", use.given.compute.value()},
          {"best_compute_s", use.best.compute.value()},
          {"given_idle_s", use.given.idle.value()},
          {"best_idle_s", use.best.idle.value()}};
}

Json waits_json(const PlacedRanks& placed) {
  Json waits = Json::array();
  if (!placed.use) return waits;
  const auto& [given, best, faster_links, without_limits] = *placed.use;
  for (const auto& [name, axis] : given.axes) {
    const auto found = best.axes.find(name);
    const auto then = found == best.axes.end() ? place_ranks::OrderUse::Axis{} : found->second;
    waits.push_back({{"axis", name},
                     {"given_exposed_s", axis.exposed.value()},
                     {"best_exposed_s", then.exposed.value()},
                     {"given_between_switches_bytes", axis.between_switches},
                     {"best_between_switches_bytes", then.between_switches}});
  }
  return waits;
}

/// Where a step does not fit or may not; what is the same in the best order is said once.
std::string memory_lines(const PlacedRanks& placed) {
  const auto line = [&](const std::string& where, Bytes peak) {
    return "memory of one chip" + where + ": peak " + format(peak) + " of " + format(placed.chip_memory) + "  " +
           memory_verdict(peak, placed.chip_memory) + "\n";
  };
  std::string text;
  if (placed.given_fit() != studies::Fit::fits) text += line("", placed.peak_memory);
  if (placed.best_fit() != placed.given_fit()) text += line(" with the best found", placed.best_peak_memory);
  return text;
}

}  // namespace

std::string layers_text(const place_ranks::StageLayers& layers) {
  std::string text;
  for (const auto count : layers) text += (text.empty() ? "" : ", ") + std::to_string(count);
  return text;
}

std::string split_text(const PlacedRanks& placed) {
  return layers_text(placed.layers) + (placed.has_other_layers()
                                           ? ", where the scenario has " + layers_text(placed.given_layers)
                                           : ", as the scenario splits them");
}

std::vector<std::string> unit_names(const scenario::Scenario& scenario, std::size_t units) {
  UnitOrder order(units);
  for (std::size_t unit = 0; unit < units; ++unit) order[unit] = static_cast<int>(unit);
  if (const auto* given = given_network(scenario)) return hosts_of(*given, order);
  std::vector<std::string> names;
  for (std::size_t unit = 0; unit < units; ++unit) names.push_back("node " + std::to_string(unit));
  return names;
}

std::string host_order(const scenario::Scenario& scenario, const UnitOrder& order) {
  const auto* given = given_network(scenario);
  return given == nullptr ? "" : topologies::fold_names(hosts_of(*given, order));
}

std::string device_order(const scenario::Scenario& scenario, const UnitOrder& order) {
  std::string text;
  for (const auto device : place_ranks::with_order(scenario.cluster, order).order.devices)
    text += std::to_string(device) + "\n";
  return text;
}

std::string placement_text(const scenario::Scenario& scenario, const PlacedRanks& placed) {
  std::string text = scenario.name + ": a step takes " + format(placed.given) + " as its ranks stand\n";
  if (placed.is_given && !placed.has_other_layers()) {
    text += placed.layers.empty() ? "no order was found in which it is shorter\n"
                                  : "no order and no split of layers was found in which it is shorter\n";
  } else {
    text += std::string(placed.layers.empty() ? "best order found: " : "best order and layers found: ") +
            format(placed.best.step) + ", " + change(placed.given, placed.best.step) + " (" + placed.best.name + ")\n";
  }
  text += std::string(placed.layers.empty() ? "no order" : "no order with any split of layers") + " takes less than " +
          format(placed.bound.time) + " (" + placed.bound.why + "): the best is within " + percent(placed.gap()) +
          " of that\n\n";
  Table table({"order", "step", "over the bound"});
  table.fold(50, 0);
  const auto row = [&](const std::string& name, Seconds step) {
    table.add({name, format(step), percent(step / placed.bound.time - 1)});
  };
  row("as the scenario says", placed.given);
  for (const auto& first : placed.first) row(first.name, first.step);
  if (placed.best.name.starts_with("after ")) row(placed.best.name, placed.with_given_layers);
  if (placed.has_other_layers()) row("the same with other layers", placed.best.step);
  text += table.to_string() + "\n" +
          (placed.layers.empty() ? counted(placed.simulated, "order")
                                 : counted(placed.simulated, "order or split", "orders and splits")) +
          " simulated" +
          (placed.stopped        ? ", stopped before all were tried"
           : placed.no_new_order ? "; no move from the best makes another one"
                                 : "") +
          "\n";
  if (!placed.layers.empty()) text += "layers of the stages: " + split_text(placed) + "\n";
  text += memory_lines(placed);
  if (placed.use) text += "\n" + lines_of(placement_reasons(placed));
  if (placed.is_given) return text;
  const auto hosts = host_order(scenario, placed.best.order);
  return text +
         (hosts.empty() ? "nodes in the order of ranks: " + units_text(placed.best.order)
                        : "hosts in the order of ranks: " + hosts) +
         "\n";
}

std::string placement_json(const scenario::Scenario& scenario, const PlacedRanks& placed) {
  Json first = Json::array();
  for (const auto& one : placed.first) first.push_back({{"name", one.name}, {"step_s", one.step.value()}});
  const auto* network = given_network(scenario);
  const auto given = fit_json(placed.given_fit());
  const auto reasons = placement_reasons(placed);
  const auto& use = placed.use;
  const Json json = {{"scenario", scenario.name},
                     {"given_step_s", placed.given.value()},
                     {"best_step_s", placed.best.step.value()},
                     {"best_is_given", placed.is_given},
                     {"found", placed.best.name},
                     {"bound_s", placed.bound.time.value()},
                     {"bound_of", placed.bound.why},
                     {"gap_ratio", placed.gap()},
                     {"answer", reasons.answer},
                     {"why", reasons.why},
                     {"what_if", reasons.what_if},
                     {"critical_rank", use ? parts_json(*use) : Json()},
                     {"waits", waits_json(placed)},
                     {"with_faster_links_s", use && use->faster_links ? Json(use->faster_links->value()) : Json()},
                     {"without_limits_s", use ? Json(use->without_limits.value()) : Json()},
                     {"first", first},
                     {"simulated", placed.simulated},
                     {"stopped", placed.stopped},
                     {"no_new_order", placed.no_new_order},
                     {"layers", placed.layers.empty() ? Json() : Json(placed.layers)},
                     {"given_layers", placed.layers.empty() ? Json() : Json(placed.given_layers)},
                     {"peak_bytes", placed.peak_memory.value()},
                     {"capacity_bytes", placed.chip_memory.value()},
                     {"fits", given["fits"]},
                     {"verdict", given["verdict"]},
                     {"best_peak_bytes", placed.best_peak_memory.value()},
                     {"best_verdict", name(placed.best_fit())},
                     {"units", placed.best.order},
                     {"hosts", network != nullptr ? Json(hosts_of(*network, placed.best.order)) : Json()}};
  return json_document(json);
}

}  // namespace lockstep::output
