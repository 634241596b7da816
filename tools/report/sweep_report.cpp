#include "tools/report/sweep_report.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tools/output/elements/table.hpp"
#include "tools/output/results/memory_verdict.hpp"
#include "tools/report/panels.hpp"

namespace lockstep::report {
namespace {

using Json = ReportData::Json;

constexpr std::size_t most_rows = 25;

std::string settings_of(const sweep::SweepTable& table, std::size_t point) {
  std::string text;
  for (const auto& key : table.keys) {
    if (!key.cells[point].empty()) text += (text.empty() ? "" : ", ") + key.name + " " + key.cells[point];
  }
  return text;
}

std::size_t column(std::string_view name) { return sweep::place_of_output(name); }

std::optional<studies::Fit> fit_of(const sweep::SweepTable& table, std::size_t point) {
  const auto output = [&](const char* name) { return table.outputs[column(name)][point]; };
  return sweep::fit_of_point(output("fits"), output("peak_bytes"), output("capacity_bytes"));
}

/// Points that fit, or may not fit, come first, then by tokens a second of a chip, by which different batches and
/// clusters can be compared.
std::vector<std::size_t> best_first(const sweep::SweepTable& table) {
  std::vector<std::size_t> order(table.points());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<bool> fits;
  for (const double each : table.outputs[column("fits")]) fits.push_back(each > 0);
  const auto& speed = table.outputs[column("tokens_per_s_per_chip")];
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return fits[a] != fits[b] ? fits[a] : speed[a] > speed[b]; });
  return order;
}

Json known(double value) { return std::isnan(value) ? Json() : Json(value); }

Json headline(sweep::Database& database, const sweep::SweepTable& table, const std::vector<std::size_t>& order) {
  const auto counts = count_points(database);
  std::vector<Figure> figures = {{"points", static_cast<double>(counts.all()), "count", "", ""},
                                 {"simulated", static_cast<double>(counts.done), "count", "", ""}};
  if (counts.refused > 0)
    figures.push_back({"refused", static_cast<double>(counts.refused), "count", "no such scenario", ""});
  if (counts.failed + counts.crashed > 0)
    figures.push_back({"failed", static_cast<double>(counts.failed + counts.crashed), "count", "", "bad"});
  std::string verdict = "No point has a result";
  if (!order.empty()) {
    const auto best = order.front();
    const auto fit = fit_of(table, best);
    const bool is_bad = fit.value_or(studies::Fit::fits) != studies::Fit::fits;
    verdict = "Most tokens/s a chip" +
              std::string(fit == studies::Fit::does_not_fit ? " (all points DO NOT FIT in memory)" : "") + ": " +
              settings_of(table, best);
    figures.push_back({"tokens/s a chip", table.outputs[column("tokens_per_s_per_chip")][best], "count",
                       fit ? std::string(name(*fit)) + " in memory" : "",
                       is_bad ? "bad"
                       : fit  ? "good"
                              : ""});
    figures.push_back({"its step time", table.outputs[column("step_time_s")][best], "s", "", ""});
    const double mfu = table.outputs[column("mfu")][best];
    if (!std::isnan(mfu)) figures.push_back({"its MFU", mfu, "share", "", ""});
  }
  return figures_panel(verdict, {}, figures);
}

/// Cells as places among the key's values.
Json chart(const sweep::SweepTable& table, const sweep::SweepAxes& axes, ReportData& data) {
  const std::size_t every = 1 + table.points() / most_points_on_a_page;
  Json panel = {{"panel", "sweep"},
                {"title", "Over the swept keys"},
                {"note", "Lines join the best points where other keys vary too; every point is a pale dot."},
                {"wide", true}};
  if (every > 1)
    panel["note"] = "One of every " + std::to_string(every) + " points. " + panel["note"].get<std::string>();
  panel["keys"] = Json::array();
  for (const auto& key : table.keys) {
    std::map<std::string, std::uint64_t> places;
    for (const auto& value : key.values) places.emplace(value, places.size());
    std::vector<std::uint64_t> cells;
    for (std::size_t i = 0; i < key.cells.size(); i += every) cells.push_back(places.at(key.cells[i]));
    panel["keys"].push_back(
        {{"name", key.name}, {"numbers", key.numbers}, {"values", key.values}, {"cells", data.whole(cells)}});
  }
  panel["outputs"] = Json::array();
  for (std::size_t k = 0; k < table.outputs.size(); ++k) {
    const auto& output = sweep::sweep_outputs()[k];
    std::vector<double> values;
    for (std::size_t i = 0; i < table.points(); i += every) values.push_back(table.outputs[k][i]);
    panel["outputs"].push_back({{"name", output.name},
                                {"unit", output.unit},
                                {"less", less_is_better(output)},
                                {"values", data.real(values)}});
  }
  panel["y"] = axes.y;
  panel["x"] = axes.x;
  panel["by"] = axes.by ? Json(*axes.by) : Json();
  return panel;
}

Json best(const sweep::SweepTable& table, const std::vector<std::size_t>& order) {
  std::vector<TableColumn> columns;
  for (const auto& key : table.keys) columns.push_back({key.name, ""});
  for (const auto* name : {"step_time_s", "mfu", "tokens_per_s_per_chip", "exposed_comm_s", "bubble_s", "peak_bytes"})
    columns.push_back({name, std::string(sweep::sweep_outputs()[column(name)].unit)});
  columns.push_back({"verdict", ""});
  Json rows = Json::array();
  for (std::size_t i = 0; i < std::min(order.size(), most_rows); ++i) {
    Json row = Json::array();
    for (const auto& key : table.keys) row.push_back(key.cells[order[i]].empty() ? "–" : key.cells[order[i]]);
    for (std::size_t k = table.keys.size(); k + 1 < columns.size(); ++k)
      row.push_back(known(table.outputs[column(columns[k].name)][order[i]]));
    const auto fit = fit_of(table, order[i]);
    row.push_back(fit ? output::fit_words(*fit) : "–");
    rows.push_back(std::move(row));
  }
  auto panel = table_panel("Best points",
                           order.size() > most_rows ? "The first " + std::to_string(most_rows) + " of " +
                                                          output::with_separators(static_cast<double>(order.size())) +
                                                          "; those that do not fit last."
                                                    : "",
                           columns, std::move(rows));
  panel["wide"] = true;
  return panel;
}

Json reasons(sweep::Database& database) {
  Json rows = Json::array();
  sweep::Statement row(
      database,
      "SELECT count(*) AS n, status, error FROM point WHERE status <> 'done' GROUP BY status, error ORDER BY "
      "n DESC, error LIMIT 25");
  while (row.step()) rows.push_back({row.whole(0), row.text(1), row.text(2)});
  auto panel =
      table_panel("Why points have no result", "", {{"points", "count"}, {"", ""}, {"reason", ""}}, std::move(rows));
  panel["wide"] = true;
  return panel;
}

}  // namespace

std::optional<std::string> sweep_report(sweep::Database& database, const sweep::SweepTable& table,
                                        const sweep::SweepAxes& axes, const std::string& title) {
  std::string keys;
  for (const auto& key : table.keys) keys += (keys.empty() ? "" : " · ") + key.name;
  ReportPage page("Sweep " + title, keys);
  const auto order = best_first(table);
  page.add(headline(database, table, order));
  if (!order.empty()) {
    page.add(chart(table, axes, page.data()));
    page.add(best(table, order));
  }
  const auto counts = count_points(database);
  if (counts.all() > counts.done) page.add(reasons(database));
  return page.html();
}

}  // namespace lockstep::report
