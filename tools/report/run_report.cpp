#include "tools/report/run_report.hpp"

#include "sim/core/quantity_text.hpp"
#include "tools/output/scenario_inputs.hpp"
#include "tools/output/summary.hpp"
#include "tools/output/table.hpp"
#include "tools/report/timeline_data.hpp"

namespace lockstep {
namespace {

using Json = ReportData::Json;

Json figure(const std::string& label, double value, const std::string& unit, const std::string& note = "", const std::string& state = "") {
  Json result = {{"label", label}, {"value", value}, {"unit", unit}};
  if (!note.empty()) result["note"] = note;
  if (!state.empty()) result["state"] = state;
  return result;
}

Json figures(const Scenario& scenario, const Simulation& simulation) {
  const auto& metrics = simulation.metrics;
  const double chips = static_cast<double>(metrics.chips);
  Json list = {figure("step time", metrics.step_time.value(), "s")};
  if (!scenario.replay) {
    list.push_back(figure("MFU", metrics.mfu(), "share", "HFU " + percent(metrics.hfu())));
    list.push_back(figure("model FLOP/s a chip", metrics.model_flops.value() / metrics.step_time.value() / chips, "FLOP/s", "of " + format(metrics.peak)));
  }
  list.push_back(figure("tokens a second", metrics.tokens_per_second(), "count", with_separators(metrics.tokens_per_second() / chips) + " a chip"));
  list.push_back(figure("exposed communication", metrics.breakdown.exposed_comm / metrics.step_time, "share", format(metrics.breakdown.exposed_comm)));
  if (metrics.stages.size() > 1) {
    list.push_back(figure("pipeline bubble", metrics.bubble_fraction_step(), "share", percent(metrics.bubble_fraction_span()) + " within the span"));
  }
  const auto& memory = metrics.memory;
  list.push_back(figure("peak memory a chip", static_cast<double>(memory.peak.value()), "B", (memory.fits ? "fits in " : "DOES NOT FIT in ") + format(memory.capacity), memory.fits ? "good" : "bad"));
  return {{"panel", "figures"}, {"verdict", bound_text(metrics)}, {"figures", list}};
}

Json inputs(const Scenario& scenario, const Simulation& simulation) {
  Json rows = Json::array();
  for (const auto& [what, value] : inputs_of(scenario, simulation.preparation)) rows.push_back({what, value});
  return {{"panel", "table"}, {"title", "Inputs"}, {"columns", {{{"name", "what"}}, {{"name", "value"}}}}, {"rows", rows}};
}

Json reproduce(const Reproduction& reproduction) {
  return {{"panel", "text"}, {"title", "To get this again"}, {"note", reproduction.command}, {"summary", "the scenario file"}, {"text", reproduction.scenario}};
}

std::string subtitle(const Scenario& scenario, const Simulation& simulation) {
  const auto& metrics = simulation.metrics;
  const auto& cluster = *simulation.preparation.cluster;
  return scenario.model.name + " on " + with_separators(static_cast<double>(metrics.chips)) + " " + cluster.chip().name + ", " +
         with_separators(static_cast<double>(metrics.tokens)) + " tokens a step, " + std::string(name(scenario.time_model)) + " rates";
}

}  // namespace

std::optional<std::string> run_report(const Scenario& scenario, const Simulation& simulation, const Reproduction& reproduction) {
  ReportPage page(scenario.name, subtitle(scenario, simulation));
  page.add(figures(scenario, simulation));
  page.add({{"panel", "timeline"}, {"title", "Timeline"}, {"runs", {timeline_data(scenario.name, simulation, page.data())}}});
  page.add(inputs(scenario, simulation));
  page.add(reproduce(reproduction));
  return page.html();
}

}  // namespace lockstep
