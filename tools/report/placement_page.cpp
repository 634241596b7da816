#include "tools/report/placement_page.hpp"

#include <utility>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/scenario_inputs.hpp"
#include "tools/report/design_page.hpp"

namespace lockstep::report {
namespace {

using Json = ReportData::Json;
using place_ranks::PlacedRanks;

std::string best_name(const PlacedRanks& placed) {
  return placed.has_other_layers() ? "best order and layers" : "best order";
}

std::vector<Figure> figures(const PlacedRanks& placed) {
  const auto fit = placed.best_fit();
  return {
      {"step as ranks stand", placed.given.value(), "s", "", ""},
      {best_name(placed) + " found", placed.best.step.value(), "s",
       placed.best.name + (placed.has_other_layers() ? ", " + output::layers_text(placed.layers) + " layers" : ""), ""},
      {"shorter by", 1 - placed.best.step / placed.given, "share", "",
       output::is_shorter(placed.best.step, placed.given) ? "good" : ""},
      {"bound", placed.bound.time.value(), "s", placed.bound.why, ""},
      {"over the bound", placed.gap(), "share", "", ""},
      {"peak memory", static_cast<double>(placed.best_peak_memory.value()), "B",
       std::string(name(fit)) + " in " + format(placed.chip_memory), fit == studies::Fit::fits ? "good" : "bad"},
      {placed.layers.empty() ? "orders simulated" : "orders and splits simulated",
       static_cast<double>(placed.simulated), "count", "", ""}};
}

Json waits(const PlacedRanks& placed) {
  std::vector<BarRow> rows;
  const auto add = [&](const std::string& name, const place_ranks::OrderUse& use) {
    BarRow row{name,
               {{"computing", use.compute.value(), "computing"}, {"idle in a pipeline", use.idle.value(), "idle"}}};
    for (const auto& [axis, one] : use.axes)
      if (one.exposed > Seconds(0)) row.pieces.push_back({"waiting along " + axis, one.exposed.value(), axis});
    rows.push_back(std::move(row));
  };
  add("as ranks stand", placed.use->given);
  if (!placed.is_given || placed.has_other_layers()) add(best_name(placed), placed.use->best);
  return bars_panel("What a step waits for", "", "s", rows);
}

/// Null where none has such links, or nothing crosses them.
Json between_switches(const PlacedRanks& placed) {
  const auto crosses = [](const place_ranks::OrderUse& use) { return use.busiest > Seconds(0); };
  if (!crosses(placed.use->given) && !crosses(placed.use->best)) return nullptr;
  Json rows = Json::array();
  for (const auto& [axis, one] : placed.use->given.axes) {
    const auto best = placed.use->best.axes.find(axis);
    rows.push_back({axis, one.between_switches,
                    best == placed.use->best.axes.end() ? Json() : Json(best->second.between_switches)});
  }
  return table_panel("Bytes on links between switches",
                     "In a step, by the mesh axes of the collectives; each link that bytes cross counts them.",
                     {{"axes", ""}, {"as ranks stand", "B"}, {best_name(placed), "B"}}, std::move(rows));
}

Json orders(const PlacedRanks& placed) {
  Json rows = Json::array();
  const auto row = [&](const std::string& name, Seconds step) {
    rows.push_back({name, step.value(), step / placed.bound.time - 1});
  };
  row("as the scenario says", placed.given);
  for (const auto& first : placed.first) row(first.name, first.step);
  if (placed.best.name.starts_with("after ")) row(placed.best.name, placed.with_given_layers);
  if (placed.has_other_layers()) row("the same with other layers", placed.best.step);
  return table_panel("Orders that were tried", "Those that the search began with, and the best that moves led to.",
                     {{"order", ""}, {"step", "s"}, {"over the bound", "share"}}, std::move(rows));
}

}  // namespace

std::optional<std::string> placement_page(const scenario::Scenario& scenario, const PlacedRanks& placed,
                                          const Reproduction& again) {
  auto page = design_page("Places of ranks: " + scenario.name,
                          output::model_text(scenario) + " on " + output::chips_text(scenario),
                          output::placement_reasons(placed), figures(placed));
  page.add(picture_panel("Where ranks stand", "Nodes as the network numbers them.",
                         output::placement_picture(scenario, placed)));
  if (placed.use) {
    page.add(waits(placed));
    if (auto panel = between_switches(placed); !panel.is_null()) page.add(std::move(panel));
  }
  page.add(orders(placed));
  if (!placed.layers.empty())
    page.add(prose_panel("Layers of the stages", std::vector<std::string>{output::split_text(placed) + "."}));
  if (const auto hosts = output::host_order(scenario, placed.best.order); !hosts.empty())
    page.add(prose_panel("Hosts in the order of ranks", std::vector<std::string>{hosts}));
  page.add(again_panel(again));
  return page.html();
}

}  // namespace lockstep::report
