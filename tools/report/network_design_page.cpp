#include "tools/report/network_design_page.hpp"

#include <algorithm>

#include "tools/output/elements/table.hpp"
#include "tools/output/results/memory_verdict.hpp"
#include "tools/report/design_page.hpp"

namespace lockstep::report {
namespace {

using Json = ReportData::Json;
using design_networks::DesignedNetwork;
using design_networks::NetworkDesign;
using Fate = DesignedNetwork::Fate;

constexpr double day_s = 86400;
constexpr std::size_t most_rows = 500;

const DesignedNetwork& at(const NetworkDesign& design, std::int64_t number) {
  return design.networks[static_cast<std::size_t>(number)];
}

std::string money_unit(double amount) { return amount >= 1000 ? "count" : "number"; }

std::vector<Figure> figures(const output::DesignedSpace& of, const NetworkDesign& design) {
  const auto chosen = design.least_total();
  if (chosen < 0) return {};
  const auto& run = *at(design, chosen).timed;
  const auto& currency = of.aim.prices->currency;
  const double bound = at(design, chosen).bound_s;
  std::vector<Figure> figures = {
      {"cheapest run", run.total, money_unit(run.total), currency, ""},
      {"run", run.run_s / day_s, "number", "days", ""},
      {design.has_equal_chips() ? "network" : "machine", design.money(chosen), money_unit(design.money(chosen)),
       currency + (design.has_equal_chips() ? " to buy" : " an hour"), ""}};
  if (run.step_s.size() == 1) figures.insert(figures.begin() + 1, {"step", run.step_s.front(), "s", "", ""});
  if (bound > 0)
    figures.push_back({"over its bound", run.run_s / bound - 1, "share", "no run is shorter than that", ""});
  figures.push_back({"networks", static_cast<double>(std::ssize(design.networks)), "count",
                     std::to_string(design.count(Fate::simulated)) + " simulated", ""});
  return figures;
}

/// How much of each part the networks of the front have.
Json bill(const NetworkDesign& design) {
  std::vector<std::string> parts;
  std::vector<TableColumn> columns = {{"parts", ""}};
  for (const auto number : design.front) {
    columns.push_back({std::to_string(columns.size()) + ".", "count"});
    for (const auto& line : at(design, number).machine.network) {
      if (std::find(parts.begin(), parts.end(), line.part) == parts.end()) parts.push_back(line.part);
    }
  }
  Json rows = Json::array();
  for (const auto& part : parts) {
    Json row = Json::array({part});
    for (const auto number : design.front) {
      const auto& lines = at(design, number).machine.network;
      const auto line = std::find_if(lines.begin(), lines.end(), [&](const auto& one) { return one.part == part; });
      row.push_back(line == lines.end() ? Json() : Json(line->count));
    }
    rows.push_back(std::move(row));
  }
  return table_panel("Parts of the networks that are worth their price", "", columns, std::move(rows));
}

/// Along which axes a step of the first scenario waits, on each network of the front.
Json waits(const output::DesignedSpace& of, const NetworkDesign& design) {
  std::vector<BarRow> rows;
  for (const auto number : design.front) {
    const auto& run = *at(design, number).timed;
    BarRow row{std::to_string(rows.size() + 1) + ".", {}};
    double rest = run.step_s.front();
    for (const auto& [axis, seconds] : run.exposed_s.front()) rest -= seconds;
    row.pieces.push_back({"computing, or idle in a pipeline", std::max(0.0, rest), "computing"});
    for (const auto& [axis, seconds] : run.exposed_s.front())
      row.pieces.push_back({"waiting along " + axis, seconds, axis});
    rows.push_back(std::move(row));
  }
  const auto& workloads = of.space.workloads();
  return bars_panel("What a step waits for",
                    workloads.size() > 1 ? "A step of " + workloads.front().file.stem().string() + "." : "", "s", rows);
}

/// The front, then what else was decided, by price.
Json networks(const output::DesignedSpace& of, const NetworkDesign& design) {
  std::vector<std::int64_t> order = design.front, others;
  for (std::int64_t number = 0; number < std::ssize(design.networks); ++number) {
    const auto fate = at(design, number).fate;
    const bool is_shown = std::find(order.begin(), order.end(), number) != order.end();
    if (!is_shown && (fate == Fate::simulated || fate == Fate::pruned)) others.push_back(number);
  }
  std::stable_sort(others.begin(), others.end(), [&](auto a, auto b) { return design.money(a) < design.money(b); });
  order.insert(order.end(), others.begin(), others.end());
  const auto all = order.size();
  if (all > most_rows) order.resize(most_rows);
  Json rows = Json::array();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& network = at(design, order[i]);
    std::string what = i < design.front.size()        ? "worth its price"
                       : network.fate == Fate::pruned ? "ruled out by its bound"
                       : network.timed->is_answer()   ? "beaten"
                                                      : "";
    if (const auto words = network.timed ? output::unfit_words(network.timed->fit) : ""; !words.empty())
      what += (what.empty() ? "" : "; ") + words + " in memory";
    rows.push_back({i < design.front.size() ? std::to_string(i + 1) + "." : "", of.space.label(order[i]), what,
                    network.timed ? Json(network.timed->run_s / day_s) : Json(), network.bound_s / day_s,
                    network.timed && network.bound_s > 0 ? Json(network.timed->run_s / network.bound_s - 1) : Json(),
                    design.money(order[i]), network.machine.network_power.value() / 1e3,
                    network.timed ? Json(network.timed->total) : Json()});
  }
  auto panel =
      table_panel("All networks",
                  "No run takes less than its bound, whatever the order of events." +
                      (all > most_rows ? " The first " + std::to_string(most_rows) + " of " + std::to_string(all) + "."
                                       : std::string()),
                  {{"", ""},
                   {"network", ""},
                   {"", ""},
                   {"run, days", "number"},
                   {"bound, days", "number"},
                   {"over the bound", "share"},
                   {design.has_equal_chips() ? "to buy" : "an hour", design.has_equal_chips() ? "count" : "number"},
                   {"kW", "number"},
                   {"whole run", "count"}},
                  std::move(rows));
  panel["wide"] = true;
  return panel;
}

}  // namespace

std::optional<std::string> network_design_page(const output::DesignedSpace& of, const NetworkDesign& design,
                                               const Reproduction& again) {
  std::string scenarios;
  for (const auto& workload : of.space.workloads())
    scenarios += (scenarios.empty() ? "" : ", ") + workload.file.stem().string();
  auto page = design_page("Designed network", scenarios + ": " + output::with_separators(of.aim.tokens) + " tokens",
                          network_design_reasons(of, design), figures(of, design));
  page.add(picture_panel("Time over price", "", network_design_picture(of, design)));
  if (!design.front.empty()) {
    page.add(waits(of, design));
    page.add(bill(design));
  }
  page.add(networks(of, design));
  page.add(again_panel(again));
  return page.html();
}

}  // namespace lockstep::report
