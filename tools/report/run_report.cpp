#include "tools/report/run_report.hpp"

#include <future>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/chip_kinds.hpp"
#include "tools/output/results/critical_path_text.hpp"
#include "tools/output/results/error_band_text.hpp"
#include "tools/output/results/local_updates_text.hpp"
#include "tools/output/results/memory_verdict.hpp"
#include "tools/output/results/scenario_inputs.hpp"
#include "tools/output/results/summary.hpp"
#include "tools/report/cluster_panels.hpp"
#include "tools/report/panels.hpp"
#include "tools/report/stage_panels.hpp"
#include "tools/report/timeline_data.hpp"

namespace lockstep::report {
namespace {

using Json = ReportData::Json;

Json headline(const scenario::Scenario& scenario, const Simulation& simulation) {
  const auto& metrics = simulation.metrics;
  const double chips = static_cast<double>(metrics.chips);
  std::vector<Figure> figures = {
      {metrics.local_updates ? "mean step time" : "step time", metrics.step_time.value(), "s", "", ""}};
  if (!scenario.replay) {
    figures.push_back({"MFU", metrics.mfu(), "share", "HFU " + output::percent(metrics.hfu()), ""});
    figures.push_back({"model FLOP/s a chip", metrics.model_flops.value() / metrics.step_time.value() / chips, "FLOP/s",
                       "of " + format(metrics.peak), ""});
  }
  figures.push_back({"tokens a second", metrics.tokens_per_second(), "count",
                     output::with_separators(metrics.tokens_per_second() / chips) + " a chip", ""});
  figures.push_back({"exposed comm.", metrics.breakdown.exposed_comm / metrics.step_time, "share",
                     format(metrics.breakdown.exposed_comm), ""});
  if (metrics.stages.size() > 1) {
    figures.push_back({"pipeline bubble", metrics.bubble_fraction_step(), "share",
                       "worst stage; " + output::percent(metrics.bubble_fraction_span()) + " within its span", ""});
  }
  const auto& memory = metrics.memory;
  const auto fit = scenario.replay ? studies::Fit::fits : studies::fit_of(memory.peak, memory.capacity);
  if (!scenario.replay)
    figures.push_back({"peak memory", static_cast<double>(memory.peak.value()), "B",
                       std::string(name(fit)) + " in " + format(memory.capacity),
                       fit == studies::Fit::fits ? "good" : "bad"});
  std::vector<std::string> remarks = {output::critical_path_line(metrics.critical_path, metrics.step_time)};
  if (const auto band = validation::error_band(scenario, simulation))
    remarks.push_back(output::band_text(*band, metrics.step_time));
  if (fit == studies::Fit::may_not_fit) remarks.push_back("memory: " + output::peak_band_text(memory.peak));
  if (auto kinds = output::chip_kinds_line(output::chip_kinds_of(simulation)); !kinds.empty())
    remarks.push_back(std::move(kinds));
  if (auto draws = output::routing_draws_line(simulation); !draws.empty()) remarks.push_back(std::move(draws));
  if (auto draws = output::document_draws_line(simulation); !draws.empty()) remarks.push_back(std::move(draws));
  if (auto help = output::what_would_help(simulation.elasticity); !help.empty()) remarks.push_back(std::move(help));
  return figures_panel(
      output::bound_text(metrics) + (fit == studies::Fit::fits ? "" : "; " + std::string(name(fit)) + " in memory"),
      remarks, figures);
}

Json inputs(const scenario::Scenario& scenario, const Simulation& simulation) {
  Json rows = Json::array();
  for (const auto& [what, value] : output::inputs_of(scenario, simulation.preparation)) rows.push_back({what, value});
  return table_panel("Inputs", "", {{"what", ""}, {"value", ""}}, std::move(rows));
}

Json faster_panel(std::span<const sensitivity::FasterPart> faster) {
  Json rows = Json::array();
  for (const auto& part : faster)
    rows.push_back({part.name, std::string(part.is_switch ? "switch" : "cable") + (part.with_nics ? " with NICs" : ""),
                    part.alike, part.used, part.gain});
  return table_panel("Cables and switches twice as fast",
                     "What the step uses most. Parts that carry the same are made faster together, and NICs with their "
                     "cables.",
                     {{"part", ""}, {"kind", ""}, {"alike", "count"}, {"used", "share"}, {"step shorter by", "share"}},
                     std::move(rows));
}

Json outer_reductions(const scenario::Scenario& scenario, const metrics::LocalUpdates& found) {
  Json rows = Json::array();
  for (const auto& one : found.reductions)
    rows.push_back({output::fragments_text(one), one.full_size.value(), one.sent_by_chip, one.reduction.value(),
                    one.alone.value(), one.exposed.value(), one.slower.value(), one.optimizer.value(),
                    found.rate_of_site(one).value()});
  auto panel = table_panel("Reductions between sites",
                           output::local_updates_heading(*scenario.step.local_updates, found) +
                               ". The timeline is that of an inner step; " + output::local_updates_share(found) + "; " +
                               output::traffic_between_sites(found) + ".",
                           {{"fragment", ""},
                            {"bytes (full)", "B"},
                            {"a chip sends", "B"},
                            {"reduction", "s"},
                            {"alone", "s"},
                            {"exposed", "s"},
                            {"slower", "s"},
                            {"optimizer", "s"},
                            {"site's links", "B/s"}},
                           std::move(rows));
  panel["wide"] = true;
  return panel;
}

std::string subtitle(const scenario::Scenario& scenario, const Simulation& simulation) {
  const auto& metrics = simulation.metrics;
  return output::model_text(scenario) + " on " + output::chips_text(scenario) + ", " +
         output::with_separators(static_cast<double>(metrics.tokens)) + " tokens a step, " +
         std::string(name(scenario.time_model)) + " rates";
}

}  // namespace

ReportPage step_page(const scenario::Scenario& scenario, const Simulation& simulation,
                     std::span<const sensitivity::FasterPart> faster) {
  auto timeline = std::async(std::launch::async, [&] { return packed_timeline(scenario.name, simulation); });
  ReportPage page(scenario.name, subtitle(scenario, simulation));
  page.add(headline(scenario, simulation));
  std::vector<Json> others;  // while the timeline is made
  others.push_back(breakdown_panel(simulation));
  if (!simulation.metrics.communication.empty()) others.push_back(communication_panel(simulation));
  if (simulation.metrics.stages.size() > 1) others.push_back(bubbles_panel(scenario, simulation));
  if (const auto& updates = simulation.metrics.local_updates) others.push_back(outer_reductions(scenario, *updates));
  others.push_back(critical_path_panel(simulation));
  if (!simulation.elasticity.empty()) others.push_back(sensitivity_panel(simulation));
  if (!faster.empty()) others.push_back(faster_panel(faster));
  if (!scenario.replay)
    others.push_back(memory_panel(simulation, page.data()));  // weights of measured operations are not known
  if (auto network = network_panel(simulation, page.data())) others.push_back(std::move(*network));
  if (simulation.ranks.count() < simulation.metrics.chips) others.push_back(classes_panel(simulation));
  others.push_back(inputs(scenario, simulation));
  page.add({{"panel", "timeline"}, {"title", "Timeline"}, {"runs", {page.data().nested(timeline.get())}}});
  for (auto& panel : others) page.add(std::move(panel));
  return page;
}

std::optional<std::string> run_report(const scenario::Scenario& scenario, const Simulation& simulation,
                                      const Reproduction& reproduction,
                                      std::span<const sensitivity::FasterPart> faster) {
  auto page = step_page(scenario, simulation, faster);
  page.add(again_panel(reproduction));
  return page.html();
}

}  // namespace lockstep::report
