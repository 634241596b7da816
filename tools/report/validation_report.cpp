#include "tools/report/validation_report.hpp"

#include <algorithm>
#include <cmath>

#include "tools/output/studies/validation_report.hpp"
#include "tools/report/panels.hpp"

namespace lockstep::report {
namespace {

using Json = ReportData::Json;

constexpr std::size_t most_rows = 25;

Json headline(const std::vector<validation::ValidatedRun>& runs) {
  std::vector<double> errors;
  std::size_t skipped = 0;
  for (const auto& run : runs) {
    if (run.counts()) errors.push_back(run.error());
    if (!run.run.skipped_because.empty()) ++skipped;
  }
  const auto rows = static_cast<double>(errors.size());
  const auto within = static_cast<double>(
      std::count_if(errors.begin(), errors.end(), [](double error) { return std::abs(error) <= 0.1; }));
  if (errors.empty())
    return figures_panel("No row could be compared", {}, {{"skipped", static_cast<double>(skipped), "count", "", ""}});
  const auto statistics = validation::statistics_of(errors);
  std::vector<Figure> figures{{"rows", rows, "count", std::to_string(skipped) + " more were skipped", ""},
                              {"mean error", statistics.mean_abs, "share", "without its sign", ""},
                              {"median error", statistics.median_abs, "share", "without its sign", ""},
                              {"bias", statistics.bias, "share", "mean with its sign", ""},
                              {"largest error", statistics.max_abs, "share", "", ""},
                              {"within 10 %", within / rows, "share", "of the rows", ""}};
  return figures_panel("", {"error = predicted / measured - 1, of step times"}, figures);
}

/// Dots of each table between lines a tenth above and below equality.
Json scatter(const std::vector<validation::ValidatedRun>& runs, ReportData& data) {
  std::vector<ChartLine> tables;
  double least = HUGE_VAL, most = 0;
  for (const auto& run : runs) {
    if (!run.counts()) continue;
    auto table =
        std::find_if(tables.begin(), tables.end(), [&](const auto& line) { return line.name == run.run.table; });
    if (table == tables.end()) table = tables.insert(table, {run.run.table, {}, ChartLine::Mark::dots, {}});
    table->points.emplace_back(run.measured_s, run.predicted_s);
    table->notes.push_back(run.run.name + " (" + run.run.family + ")");
    least = std::min({least, run.measured_s, run.predicted_s});
    most = std::max({most, run.measured_s, run.predicted_s});
  }
  const auto line = [&](const std::string& name, double factor, ChartLine::Mark mark) {
    tables.push_back({name, {{least, least * factor}, {most, most * factor}}, mark, {}});
  };
  line("predicted as measured", 1, ChartLine::Mark::line);
  line("10 % more", 1.1, ChartLine::Mark::dashed);
  line("10 % less", 0.9, ChartLine::Mark::dashed);
  auto panel = chart_panel({"Predicted against measured steps",
                            "A dot for each row.",
                            {"measured step", "s"},
                            {"predicted step", "s"},
                            std::move(tables)},
                           data);
  panel["wide"] = true;
  return panel;
}

Json families(const std::vector<validation::ValidatedRun>& runs) {
  Json rows = Json::array();
  for (const auto& family : families_of(runs)) {
    const auto& time = family.time;
    const auto of = [&](double value) { return time.rows > 0 ? Json(value) : Json(); };
    rows.push_back({family.table, family.name.empty() ? "all" : family.name, time.rows, family.skipped,
                    of(time.mean_abs), of(time.median_abs), of(time.bias), of(time.max_abs),
                    family.spearman ? Json(*family.spearman) : Json()});
  }
  auto panel = table_panel("Tables and their families", "Spearman: rank correlation within a family.",
                           {{"table", ""},
                            {"family", ""},
                            {"rows", "count"},
                            {"skipped", "count"},
                            {"mean", "share"},
                            {"median", "share"},
                            {"bias", "share"},
                            {"max", "share"},
                            {"Spearman", "number"}},
                           std::move(rows));
  panel["wide"] = true;
  return panel;
}

Json worst_rows(const std::vector<validation::ValidatedRun>& runs) {
  Json rows = Json::array();
  for (const auto* run : output::worst_first(runs)) {
    if (rows.size() == most_rows) break;
    rows.push_back({run->run.table, run->run.name, run->run.family, run->predicted_s, run->measured_s, run->error()});
  }
  auto panel = table_panel(
      "Worst rows", "",
      {{"table", ""}, {"row", ""}, {"family", ""}, {"predicted", "s"}, {"measured", "s"}, {"error", "share"}},
      std::move(rows));
  panel["wide"] = true;
  return panel;
}

Json reasons(const std::vector<validation::ValidatedRun>& runs) {
  Json rows = Json::array();
  for (const auto& [reason, count] : output::reasons_of(runs)) rows.push_back({count, reason});
  auto panel = table_panel("Skipped", "", {{"rows", "count"}, {"why", ""}}, std::move(rows));
  panel["wide"] = true;
  return panel;
}

/// Errors of each network, and dots of each network beside the line of equality.
void add_collectives(const std::vector<validation::ValidatedCollective>& collectives, ReportPage& page) {
  Json rows = Json::array();
  for (const auto& of : errors_of(collectives))
    rows.push_back({of.table, of.network, of.is_long ? "from 64 MiB" : "shorter", of.rows, of.median_abs, of.p90_abs,
                    of.bias, of.meets() ? "yes" : "no"});
  auto table = table_panel("Collectives by network",
                           "Targets: a median of 8 % and a 90th percentile of 20 % from 64 MiB, a median of 30 % of "
                           "shorter messages. The bias is the median with its sign.",
                           {{"table", ""},
                            {"network", ""},
                            {"messages", ""},
                            {"rows", "count"},
                            {"median", "share"},
                            {"90th", "share"},
                            {"bias", "share"},
                            {"met", ""}},
                           std::move(rows));
  table["wide"] = true;
  page.add(table);
  std::vector<ChartLine> networks;
  double least = HUGE_VAL, most = 0;
  for (const auto& one : collectives) {
    auto network =
        std::find_if(networks.begin(), networks.end(), [&](const auto& line) { return line.name == one.network; });
    if (network == networks.end()) network = networks.insert(network, {one.network, {}, ChartLine::Mark::dots, {}});
    network->points.emplace_back(one.row.seconds, one.predicted_s);
    network->notes.push_back(one.row.table + " line " + std::to_string(one.row.where.line) + ", " + one.choice);
    least = std::min({least, one.row.seconds, one.predicted_s});
    most = std::max({most, one.row.seconds, one.predicted_s});
  }
  networks.push_back({"predicted as measured", {{least, least}, {most, most}}, ChartLine::Mark::line, {}});
  auto chart = chart_panel({"Predicted against measured collectives",
                            "A dot for each row.",
                            {"measured", "s"},
                            {"predicted", "s"},
                            std::move(networks)},
                           page.data());
  chart["wide"] = true;
  page.add(chart);
}

}  // namespace

std::optional<std::string> validation_report(const std::vector<validation::ValidatedRun>& runs,
                                             const std::string& model_of_time,
                                             const std::vector<validation::ValidatedCollective>& collectives) {
  ReportPage page("Validation", "measured steps, model of time: " + model_of_time);
  if (!runs.empty() || collectives.empty()) page.add(headline(runs));
  const bool any = std::any_of(runs.begin(), runs.end(), [](const auto& run) { return run.counts(); });
  if (any) {
    page.add(scatter(runs, page.data()));
    page.add(families(runs));
    page.add(worst_rows(runs));
  }
  if (!output::reasons_of(runs).empty()) page.add(reasons(runs));
  if (!collectives.empty()) add_collectives(collectives, page);
  return page.html();
}

}  // namespace lockstep::report
