#include "tools/report/compare_report.hpp"

#include <algorithm>
#include "sim/core/quantity_text.hpp"

#include "tools/output/elements/table.hpp"
#include "tools/output/results/memory_verdict.hpp"
#include "tools/report/panels.hpp"
#include "tools/report/timeline_data.hpp"

namespace lockstep::report {
namespace {

using Json = ReportData::Json;

Json headline(const std::vector<output::ComparedScenario>& scenarios) {
  const auto& first = scenarios.front();
  std::vector<Figure> figures;
  std::vector<std::string> remarks;
  for (const auto& scenario : scenarios) {
    const bool fits = scenario.fit.value_or(studies::Fit::fits) == studies::Fit::fits;
    figures.push_back(
        {scenario.name, scenario.step_s, "s",
         (scenario.mfu ? "MFU " + output::percent(*scenario.mfu) : "") +
             (scenario.routing_draws_s ? ", " + format(Seconds(scenario.routing_draws_s->first)) + " to " +
                                             format(Seconds(scenario.routing_draws_s->second)) + " under seeds"
                                       : "") +
             (fits ? "" : ", " + std::string(name(*scenario.fit)) + " in memory"),
         fits ? "" : "bad"});
    if (&scenario != &first) remarks.push_back(difference_text(first, scenario));
  }
  return figures_panel("", remarks, figures);
}

Json numbers(const std::vector<output::ComparedScenario>& scenarios) {
  const auto& first = scenarios.front();
  const bool pipelined =
      std::any_of(scenarios.begin(), scenarios.end(), [](const auto& one) { return one.bubble_of_step > 0; });
  Json rows = Json::array();
  for (const auto& one : scenarios) {
    Json row = {one.name,
                one.step_s,
                one.step_s / first.step_s,
                one.tokens_per_s,
                one.tokens_per_s_per_chip,
                one.mfu ? Json(*one.mfu) : Json()};
    if (pipelined) row.push_back(one.bubble_of_step);
    for (const auto& cell :
         {Json(one.peak_bytes), Json(one.capacity_bytes), Json(one.fit ? output::fit_words(*one.fit) : "–")})
      row.push_back(cell);
    rows.push_back(std::move(row));
  }
  std::vector<TableColumn> columns{{"scenario", ""},      {"step time", "s"},           {"to the first", "ratio"},
                                   {"tokens/s", "count"}, {"tokens/s a chip", "count"}, {"MFU", "share"}};
  if (pipelined) columns.push_back({"pipeline bubble", "share"});
  columns.insert(columns.end(), {{"memory peak", "B"}, {"of", "B"}, {"verdict", ""}});
  auto panel = table_panel("Numbers", "", columns, std::move(rows));
  panel["wide"] = true;
  return panel;
}

Json parts(const std::vector<output::ComparedScenario>& scenarios) {
  std::vector<BarRow> rows;
  for (const auto& scenario : scenarios) {
    rows.push_back({scenario.name, {}});
    auto& pieces = rows.back().pieces;
    for (const auto& part : scenario.parts) {  // of one axis all kinds together
      const auto what = part.axis.empty() ? part.what : "exposed " + part.axis;
      const auto known =
          std::find_if(pieces.begin(), pieces.end(), [&](const BarPiece& piece) { return piece.what == what; });
      if (known != pieces.end()) {
        known->value += part.seconds;
      } else {
        pieces.push_back({what, part.seconds,
                          !part.axis.empty()         ? part.axis
                          : part.what == "computing" ? "computing"
                                                     : "idle"});
      }
    }
  }
  auto panel = bars_panel("Where the step goes", "The rank that sets each step's time.", "s", rows);
  panel["wide"] = true;
  return panel;
}

/// The peak of the chip that is fullest, by what it holds.
Json memory(const std::vector<output::ComparedScenario>& scenarios) {
  std::vector<BarRow> rows;
  for (const auto& scenario : scenarios) {
    const auto result = Json::parse(scenario.result);
    rows.push_back({scenario.name, {}});
    for (const char* kind :
         {"weights", "gradients", "optimizer", "activations", "gathered", "buffers", "workspace", "overhead"}) {
      const auto found = result["memory"].find(std::string(kind) + "_bytes");
      if (found != result["memory"].end() && found->is_number() && found->get<double>() > 0)
        rows.back().pieces.push_back({kind, found->get<double>(), kind});
    }
  }
  auto panel = bars_panel("Memory at its peak", "The fullest chip.", "B", rows);
  panel["wide"] = true;
  return panel;
}

Json differences(const std::vector<output::ComparedScenario>& scenarios) {
  std::vector<TableColumn> columns = {{"input", ""}};
  for (const auto& scenario : scenarios) columns.push_back({scenario.name, ""});
  Json rows = Json::array();
  for (const auto& what : changed_inputs(scenarios)) {
    Json row = {what};
    for (const auto& scenario : scenarios) row.push_back(output::value_of(scenario.inputs, what));
    rows.push_back(std::move(row));
  }
  const auto note = rows.empty() ? "No input differs." : "";
  auto panel = table_panel("What differs", note, columns, std::move(rows));
  panel["wide"] = true;
  return panel;
}

}  // namespace

ReportPage comparison_page(const std::vector<output::ComparedScenario>& scenarios,
                           const std::vector<std::string>& timelines) {
  std::string names;
  for (const auto& scenario : scenarios) names += (names.empty() ? "" : " · ") + scenario.name;
  ReportPage page("Comparison", names);
  page.add(headline(scenarios));
  Json runs = Json::array();
  for (const auto& timeline : timelines) runs.push_back(page.data().nested(timeline));
  page.add({{"panel", "timeline"}, {"title", "Timelines on one axis"}, {"runs", std::move(runs)}});
  page.add(parts(scenarios));
  page.add(memory(scenarios));
  page.add(numbers(scenarios));
  page.add(differences(scenarios));
  return page;
}

std::optional<std::string> compare_report(const std::vector<output::ComparedScenario>& scenarios,
                                          const std::vector<std::string>& timelines) {
  return comparison_page(scenarios, timelines).html();
}

}  // namespace lockstep::report
