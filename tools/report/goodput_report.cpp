#include "tools/report/goodput_report.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/long_time.hpp"
#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/scenario_inputs.hpp"
#include "tools/report/panels.hpp"

namespace lockstep::report {
namespace {

using Json = ReportData::Json;

constexpr double day = 86400;

Json headline(const goodput::GoodputStudy& study, const output::GoodputAim& aim) {
  const auto& simulated = study.simulated;
  const double interruptions = study.expected.all_causes().interruptions * day;
  std::vector<Figure> figures = {
      {"goodput", study.expected.useful, "share", "of the run's time", ""},
      {"simulated", simulated.mean.useful, "share",
       "nine of ten runs: " + output::percent(simulated.low) + " to " + output::percent(simulated.high), ""},
      {"interruptions a day", interruptions, "number", "", ""},
      {"best goodput", study.best.useful, "share", "checkpoints every " + format_long(study.best.interval), ""}};
  if (aim.tokens_per_s > 0)
    figures.push_back({"1e9 tokens a day", aim.tokens_per_s * study.expected.useful * day / 1e9, "number", "", ""});
  if (aim.tokens)
    figures.push_back({"days", *aim.tokens / (aim.tokens_per_s * study.expected.useful * day), "number",
                       output::with_separators(*aim.tokens) + " tokens", ""});
  return figures_panel(output::percent(study.expected.useful) + " of the run's time is training that counts",
                       {"checkpoint of " + format(study.model.checkpoint) + " every " +
                        format_long(study.model.interval) + ": training stands still for " + format(study.model.stall)},
                       figures);
}

BarRow row_of(const std::string& name, const goodput::TimeShares& shares, bool elastic) {
  const auto all = shares.all_causes();
  BarRow row{name,
             {{"training that counts", shares.useful, "computing"},
              {"checkpoints", shares.checkpoints, "optimizer"},
              {"work done again", all.lost_work, "contention"},
              {"detection, restart, reading", all.recovery, "transfer"},
              {"waiting for repair", all.waiting, "idle"}}};
  if (elastic) row.pieces.push_back({"fewer chips", shares.fewer_chips, "gathered"});
  if (all.losses > 0) row.pieces.push_back({"slower beside broken parts", all.slower, "replayed"});
  if (shares.beside_writing > 0)
    row.pieces.push_back({"slower beside checkpoints", shares.beside_writing, "gradients"});
  return row;
}

/// The formula over a hundredth of the best interval to a hundred times it, as far as intervals may go.
Json intervals_chart(const goodput::GoodputStudy& study, ReportData& data) {
  constexpr int points = 120;
  constexpr double range = 100;
  ChartLine curve{"renewal formula", {}, ChartLine::Mark::line, {}};
  const double best = study.best.interval.value(), least = study.model.least_interval().value();
  const double from = std::max(least, best / range), to = std::max(best, study.model.interval.value()) * range;
  for (int i = 0; i <= points; ++i) {
    const double interval = from * std::pow(to / from, static_cast<double>(i) / points);
    const double useful = goodput::expected_shares(study.model, Seconds(interval)).useful;
    if (useful > 0) curve.points.emplace_back(interval, useful);
  }
  const auto dot = [](const std::string& name, Seconds interval, double useful) {
    return ChartLine{name, {{interval.value(), useful}}, ChartLine::Mark::line_with_dots, {format_long(interval)}};
  };
  return chart_panel({"Goodput over the interval between checkpoints",
                      "Short intervals stand still for checkpoints, long ones do work again.",
                      {"interval", "s"},
                      {"goodput", "share", ChartAxis::Scale::from_zero},
                      {std::move(curve), dot("this run", study.model.interval, study.expected.useful),
                       dot("best", study.best.interval, study.best.useful)}},
                     data);
}

Json spares_chart(const goodput::SpareStudy& spares, ReportData& data) {
  ChartLine waiting{"waits for repairs", {}, ChartLine::Mark::line_with_dots, {}};
  ChartLine elastic{"elastic", {}, ChartLine::Mark::line_with_dots, {}};
  for (const auto& row : spares.rows) {
    const auto hosts = static_cast<double>(row.waiting.spares);
    waiting.points.emplace_back(hosts, row.waiting.of_a_chip);
    elastic.points.emplace_back(hosts, row.elastic.of_a_chip);
  }
  return chart_panel({"Useful time of a chip over spare hosts",
                      "Over the time of all chips, those of the spare hosts included.",
                      {"spare hosts", "count", ChartAxis::Scale::linear},
                      {"useful time", "share", ChartAxis::Scale::from_zero},
                      {std::move(waiting), std::move(elastic)}},
                     data);
}

Json causes_panel(const goodput::GoodputStudy& study) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < study.model.causes.size(); ++i) {
    const auto& cause = study.model.causes[i];
    const auto& share = study.expected.causes[i];
    rows.push_back({cause.name, std::string(scenario::component_names[cause.of]), cause.count,
                    format_long(cause.mtbf()), (cause.stops ? share.interruptions : share.losses) * day,
                    share.lost_work, share.recovery, share.waiting, share.slower});
  }
  auto panel = table_panel("What interrupts the run", "Shares of the run's time, by the formula.",
                           {{"interruption", ""},
                            {"of", ""},
                            {"count", "count"},
                            {"MTBF of one", ""},
                            {"a day", "number"},
                            {"lost work", "share"},
                            {"recovery", "share"},
                            {"waiting", "share"},
                            {"slower", "share"}},
                           std::move(rows));
  panel["wide"] = true;
  return panel;
}

}  // namespace

std::optional<std::string> goodput_report(const scenario::Scenario& scenario, const goodput::GoodputStudy& study,
                                          const output::GoodputAim& aim) {
  ReportPage page("Goodput of " + scenario.name, output::model_text(scenario) + " on " + output::chips_text(scenario) +
                                                     ", " + std::to_string(study.simulated.runs) +
                                                     " simulated runs of " + format_long(study.simulated.length));
  page.add(headline(study, aim));
  page.add(bars_panel("Where the time goes", "", "share",
                      {row_of("formula", study.expected, study.model.elastic),
                       row_of("simulated", study.simulated.mean, study.model.elastic)}));
  page.add(intervals_chart(study, page.data()));
  if (study.spares) page.add(spares_chart(*study.spares, page.data()));
  page.add(causes_panel(study));
  return page.html();
}

}  // namespace lockstep::report
