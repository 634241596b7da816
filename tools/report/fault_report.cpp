#include "tools/report/fault_report.hpp"

#include <algorithm>

#include "tools/output/elements/table.hpp"
#include "tools/output/results/scenario_inputs.hpp"
#include "tools/report/page.hpp"
#include "tools/report/panels.hpp"

namespace lockstep::report {
namespace {

using Json = ReportData::Json;

bool parts(const faults::Loss& loss) { return !loss.partition.empty(); }

Json headline(const faults::FaultStudy& study) {
  const auto parting = std::count_if(study.losses.begin(), study.losses.end(), parts);
  const auto survived = std::find_if_not(study.losses.begin(), study.losses.end(), parts);
  const std::string verdict = survived == study.losses.end()
                                  ? "No loss that was simulated leaves the job whole"
                                  : "The worst loss that the job survives: " + survived->name;
  std::vector<Figure> figures{
      {"step", study.whole.value(), "s", "without a loss", ""},
      {"losses that part the job", static_cast<double>(parting), "count",
       "of " + std::to_string(study.losses.size()) + " kinds simulated", parting > 0 ? "bad" : "good"}};
  if (survived != study.losses.end())
    figures.push_back({"step without it", survived->step.value(), "s",
                       output::percent(survived->step / study.whole - 1) + " longer", ""});
  std::vector<std::string> remarks;
  if (study.left_out > 0)
    remarks.push_back(std::to_string(study.left_out) +
                      " more kinds of loss were not simulated: --most sets how many are");
  return figures_panel(verdict, remarks, figures);
}

Json losses(const faults::FaultStudy& study) {
  Json rows = Json::array();
  for (const auto& loss : study.losses) {
    rows.push_back({loss.name, loss.is_switch ? "switch" : "cable", loss.alike,
                    parts(loss) ? Json() : Json(loss.step.value()),
                    parts(loss) ? Json() : Json(loss.step / study.whole - 1),
                    parts(loss) ? "parts the job: " + loss.partition : ""});
  }
  auto panel = table_panel(
      "The step without each switch and cable",
      "One at a time; the job keeps its placement. Parts whose loss comes to the same share a row.",
      {{"without", ""}, {"kind", ""}, {"alike", "count"}, {"step", "s"}, {"longer by", "share"}, {"effect", ""}},
      std::move(rows));
  panel["wide"] = true;
  return panel;
}

}  // namespace

std::optional<std::string> fault_report(const scenario::Scenario& scenario, const faults::FaultStudy& study) {
  ReportPage page("Losses of " + scenario.name, output::model_text(scenario) + " on " + output::chips_text(scenario));
  page.add(headline(study));
  if (!study.losses.empty()) page.add(losses(study));
  return page.html();
}

}  // namespace lockstep::report
