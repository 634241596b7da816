#include "tools/report/roofline_report.hpp"

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/memory_verdict.hpp"
#include "tools/output/results/scenario_inputs.hpp"
#include "tools/output/studies/roofline_plots.hpp"
#include "tools/report/panels.hpp"

namespace lockstep::report {
namespace {

using Json = ReportData::Json;

Json headline(const roofline::RooflineStudy& study) {
  return figures_panel(
      "The closed forms name " + output::plan_text(study.named) +
          (study.fsdp_alone_hides ? ": FSDP alone hides its communication" : ""),
      {},
      {{"compute rate", study.balance.flops.value(), "FLOP/s", "a chip", ""},
       {"bandwidth of an axis", study.balance.axis.value(), "B/s", "both directions", ""},
       {"C/W", study.balance.intensity(), "count", "FLOPs a byte", ""},
       {"tokens a chip", study.tokens_per_chip, "count", "FSDP + TP need " + output::fixed(study.mixed_need, 0),
        study.tokens_per_chip > study.mixed_need ? "good" : "bad"},
       {"best FSDP size", study.best_fsdp, "count",
        "of " + output::with_separators(static_cast<double>(study.chips)) + " chips", ""}});
}

Json thresholds(const roofline::RooflineStudy& study) {
  Json rows = Json::array();
  for (const auto& row : study.thresholds) rows.push_back({row.group, row.book, row.exact, row.simulated});
  return table_panel("FSDP is compute-bound above so many tokens a chip", "",
                     {{"FSDP over", ""}, {"book C/(W M)", "count"}, {"exact rings", "count"}, {"simulated", "count"}},
                     std::move(rows));
}

Json splits(const roofline::RooflineStudy& study) {
  Json rows = Json::array();
  for (const auto& split : study.splits) {
    if (!split.refused.empty()) {
      rows.push_back({output::plan_text(split.plan), nullptr, nullptr, nullptr, nullptr, nullptr, split.refused});
      continue;
    }
    rows.push_back({output::plan_text(split.plan), split.math.value(), split.fsdp.value(), split.tensor.value(),
                    split.without_contention.value(), split.with_contention.value(),
                    split.placement +
                        (split.fit == studies::Fit::fits ? "" : "; " + output::unfit_words(split.fit) + " in memory")});
  }
  auto panel = table_panel("Ways to split the chips",
                           "One layer's forward by the book's closed forms; the whole step simulated on the default "
                           "placement, without and with contention.",
                           {{"split", ""},
                            {"T_math", "s"},
                            {"T_fsdp", "s"},
                            {"T_tp", "s"},
                            {"step alone", "s"},
                            {"step", "s"},
                            {"placement", ""}},
                           std::move(rows));
  panel["wide"] = true;
  return panel;
}

Json headline(const roofline::NetworkRoofline& study) {
  const roofline::NetworkLevel* worst = nullptr;
  for (const auto& level : study.levels) {
    if (worst == nullptr || level.simulated > worst->simulated) worst = &level;
  }
  std::vector<Figure> figures{{"compute rate", study.flops.value(), "FLOP/s", "a chip", ""},
                              {"tokens a chip", study.tokens_per_chip, "count", "in this batch", ""}};
  if (worst == nullptr) return figures_panel("No level of the network is crossed", {}, figures);
  const bool hides = study.tokens_per_chip > worst->simulated;
  figures.push_back({"tokens a chip needed", worst->simulated, "count", worst->group, hides ? "good" : "bad"});
  return figures_panel(std::string(hides ? "All communication hides behind compute" : "Communication is exposed") +
                           "; most tokens a chip are needed by " + worst->group,
                       {}, figures);
}

Json thresholds(const roofline::NetworkRoofline& study) {
  Json rows = Json::array();
  for (const auto& level : study.levels)
    rows.push_back({level.group, level.bandwidth.value(), level.book, level.exact, level.simulated});
  return table_panel(
      "Communication hides above so many tokens a chip", "",
      {{"of a layer", ""}, {"bandwidth", "B/s"}, {"book", "count"}, {"exact", "count"}, {"simulated", "count"}},
      std::move(rows));
}

}  // namespace

std::optional<std::string> roofline_report(const scenario::Scenario& scenario, const roofline::RooflineStudy& study) {
  ReportPage page("Roofline of " + scenario.name, output::model_text(scenario) + " on " + output::chips_text(scenario));
  page.add(headline(study));
  page.add(lines_panel(output::ratio_plot(study), page.data()));
  page.add(lines_panel(output::times_plot(study), page.data()));
  page.add(splits(study));
  page.add(thresholds(study));
  return page.html();
}

std::optional<std::string> roofline_report(const scenario::Scenario& scenario, const roofline::NetworkRoofline& study) {
  ReportPage page("Roofline of " + scenario.name, output::model_text(scenario) + " on " + output::chips_text(scenario));
  page.add(headline(study));
  if (!study.levels.empty()) page.add(lines_panel(output::exposed_plot(study), page.data()));
  page.add(thresholds(study));
  return page.html();
}

}  // namespace lockstep::report
