#include "tools/report/plan_report.hpp"

#include <algorithm>
#include <numeric>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/memory_verdict.hpp"
#include "tools/output/results/scenario_inputs.hpp"
#include "tools/output/results/scenario_notes.hpp"
#include "tools/output/studies/plan_report.hpp"
#include "tools/report/panels.hpp"
#include "tools/report/stage_panels.hpp"
#include "tools/report/timeline_data.hpp"

namespace lockstep::report {
namespace {

using Json = ReportData::Json;

std::string count(std::int64_t number) { return output::with_separators(static_cast<double>(number)); }

double exposed_of(const planning::PlanFigures& figures) {
  return std::accumulate(figures.exposed_s.begin(), figures.exposed_s.end(), 0.0);
}

Json headline(const planning::PlanSpace& space, const planning::SearchResult& result) {
  const auto& proof = result.proof;
  std::vector<std::string> remarks{output::proof_line(result)};
  for (const auto& note : output::notes_of(space.base())) remarks.push_back(note);
  if (result.best.empty()) {
    auto none = output::none_keeps_within(proof, space.memory());
    none.front() = 'N';
    return figures_panel(none, remarks, {{"plans", static_cast<double>(proof.space), "count", "", ""}});
  }
  const auto& best = result.best.front();
  const auto& figures = best.figures;
  remarks.insert(remarks.begin(), output::placement_name(space, best.choice));
  if (auto band = output::band_of_best(space, result); !band.empty())
    remarks.insert(remarks.begin() + 1, std::move(band));
  const Bytes peak(figures.peak_bytes);
  const auto fit = studies::fit_of(peak, output::program_memory(space));
  if (auto words = output::may_not_fit_text(space, best); !words.empty()) remarks.push_back("memory: " + words);
  const bool proven = proof.open == 0;
  return figures_panel(
      output::plan_name(space, best.choice), remarks,
      {{"step time", figures.step_s, "s", "", ""},
       {"MFU", figures.mfu, "share", "", ""},
       {"peak memory", static_cast<double>(figures.peak_bytes), "B",
        std::string(name(fit)) + " in " + format(output::program_memory(space)),
        fit == studies::Fit::fits ? "good" : "bad"},
       {"exposed comm.", exposed_of(figures) / figures.step_s, "share", format(Seconds(exposed_of(figures))), ""},
       {"gap", result.gap(), "share", proven ? "proven: no plan is faster" : "an open plan may be so much faster",
        proven ? "good" : ""},
       {"plans", static_cast<double>(proof.space), "count", count(proof.simulated) + " simulated", ""}});
}

std::string verdict_cell(const planning::PlanSpace& space, const planning::PlanFigures& figures) {
  return output::fit_words(studies::fit_of(Bytes(figures.peak_bytes), output::program_memory(space)));
}

Json plans_panel(const planning::PlanSpace& space, const planning::SearchResult& result) {
  const auto& best = result.best.front().figures;
  Json rows = Json::array();
  int rank = 0;
  for (const auto& plan : result.best) {
    const auto& figures = plan.figures;
    const auto why = output::why_it_loses(figures, best);
    rows.push_back({std::to_string(++rank), figures.step_s, figures.step_s / best.step_s - 1, figures.mfu,
                    static_cast<double>(figures.peak_bytes), verdict_cell(space, figures),
                    output::plan_name(space, plan.choice), output::placement_name(space, plan.choice),
                    rank == 1     ? "the best"
                    : why.empty() ? "as fast; the canonical order decides"
                                  : why});
  }
  auto panel = table_panel("The best plans", "Why a plan loses: in what it takes longer than the best.",
                           {{"", ""},
                            {"step time", "s"},
                            {"slower by", "share"},
                            {"MFU", "share"},
                            {"memory", "B"},
                            {"verdict", ""},
                            {"plan", ""},
                            {"placement", ""},
                            {"why it loses", ""}},
                           std::move(rows));
  panel["wide"] = true;
  return panel;
}

Json parts_panel(const planning::SearchResult& result) {
  std::vector<BarRow> rows;
  for (const auto& plan : result.best) {
    auto& row = rows.emplace_back(BarRow{"plan " + std::to_string(rows.size() + 1), {}});
    row.pieces.push_back({"computing", plan.figures.compute_s, "computing"});
    for (std::size_t axis = 0; axis < plan.figures.exposed_s.size(); ++axis) {
      if (plan.figures.exposed_s[axis] <= 0) continue;
      const auto name = axis < planning::plan_axes.size()
                            ? planning::plan_axis_name(static_cast<int>(axis), plan.choice.zero)
                            : std::string("several axes");
      row.pieces.push_back({"exposed " + name, plan.figures.exposed_s[axis], name});
    }
    row.pieces.push_back({"idle", plan.figures.bubble_s, "idle"});
  }
  auto panel = bars_panel("Where the steps go", "The rank that sets each step's time.", "s", rows);
  panel["wide"] = true;
  return panel;
}

// ---- time against memory ---------------------------------------------------------------------------

constexpr const char* how_it_was_searched =
    "The best plan with all, three, two and one quarter of the memory that the search may fill, each from a search of "
    "its own. Where the plan above already leaves that much room, it is the best here too.";

/// A plan that is the best under several limits is one point.
Json front_chart(const planning::PlanSpace& space, std::span<const planning::MemoryPoint> front, ReportData& data) {
  ChartLine line{"best plan within its memory", {}, ChartLine::Mark::line_with_dots, {}};
  for (const auto& point : front) {
    if (!point.best || (!point.searched && !line.points.empty())) continue;
    const auto& figures = point.best->figures;
    line.points.emplace_back(static_cast<double>(figures.peak_bytes), figures.step_s);
    line.notes.push_back("within " + format(point.memory) + ": " + output::plan_name(space, point.best->choice));
  }
  return chart_panel({"Step time against memory",
                      how_it_was_searched,
                      {"memory that the plan takes", "B", ChartAxis::Scale::from_zero},
                      {"step time", "s", ChartAxis::Scale::from_zero},
                      {std::move(line)}},
                     data);
}

Json front_table(const planning::PlanSpace& space, std::span<const planning::MemoryPoint> front) {
  Json rows = Json::array();
  for (const auto& point : front) {
    if (!point.best) {
      rows.push_back(
          {static_cast<double>(point.memory.value()), nullptr, nullptr, nullptr, nullptr, nullptr,
           point.proof.open > 0 ? "no plan found before the search was stopped" : "no plan keeps within it"});
      continue;
    }
    const auto& figures = point.best->figures;
    rows.push_back({static_cast<double>(point.memory.value()), figures.step_s, figures.mfu,
                    static_cast<double>(figures.peak_bytes), verdict_cell(space, figures), point.gap,
                    output::plan_name(space, point.best->choice)});
  }
  return table_panel("Best plans with less memory", "Gap 0: proven.",
                     {{"within", "B"},
                      {"step time", "s"},
                      {"MFU", "share"},
                      {"takes", "B"},
                      {"verdict", ""},
                      {"gap", "share"},
                      {"plan", ""}},
                     std::move(rows));
}

std::string subtitle(const scenario::Scenario& scenario, const std::string& chips) {
  return output::model_text(scenario) + " on " + chips + ", " +
         count(scenario.batch.sequences * scenario.batch.sequence_length) + " tokens a step, " +
         std::string(name(scenario.time_model)) + " rates";
}

// ---- over chips ------------------------------------------------------------------------------------

Json chips_headline(const std::vector<ChipsRow>& rows, const std::string& met) {
  const auto efficient = std::max_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return (a.figures ? a.figures->mfu : -1) < (b.figures ? b.figures->mfu : -1);
  });
  const auto fastest = std::min_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return (a.figures ? a.figures->step_s : HUGE_VAL) < (b.figures ? b.figures->step_s : HUGE_VAL);
  });
  if (rows.empty() || !fastest->figures)
    return figures_panel("No plan keeps within the memory of any of these clusters", {}, {});
  return figures_panel(
      met.empty() ? "Most MFU on " + count(efficient->chips) + " chips, shortest step on " + count(fastest->chips)
                  : met,
      {},
      {{"shortest step", fastest->figures->step_s, "s", count(fastest->chips) + " chips", ""},
       {"most MFU", efficient->figures->mfu, "share", count(efficient->chips) + " chips", ""}});
}

Json chips_chart(const std::vector<ChipsRow>& rows, ReportData& data) {
  ChartLine line{"best plan", {}, ChartLine::Mark::line_with_dots, {}},
      ideal{"as fast a chip", {}, ChartLine::Mark::dashed, {}};
  for (const auto& row : rows) {
    if (!row.figures) continue;
    const auto chips = static_cast<double>(row.chips);
    line.points.emplace_back(chips, row.figures->step_s);
    line.notes.push_back("MFU " + output::percent(row.figures->mfu) + "; " + row.plan);
    const auto& [first_chips, first_s] = line.points.front();
    ideal.points.emplace_back(chips, first_s * first_chips / chips);
  }
  auto panel =
      chart_panel({"Step time over chips",
                   "The proven best plan of each number of chips, from a search of its own; dashed: chips that stay as "
                   "fast as those of the smallest cluster.",
                   {"chips", "count"},
                   {"step time", "s"},
                   {std::move(line), std::move(ideal)}},
                  data);
  panel["wide"] = true;
  return panel;
}

Json chips_table(const std::vector<ChipsRow>& rows) {
  const bool days = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.days > 0; });
  const bool cost = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.cost > 0; });
  std::vector<TableColumn> columns{{"chips", "count"}, {"step time", "s"}, {"MFU", "share"},
                                   {"memory", "B"},    {"verdict", ""},    {"gap", "share"}};
  if (days) columns.push_back({"days", "number"});
  if (cost) columns.push_back({"cost", "count"});
  columns.insert(columns.end(), {{"plan", ""}, {"placement", ""}});
  Json cells = Json::array();
  for (const auto& row : rows) {
    const auto or_none = [&](double value) { return row.figures ? Json(value) : Json(); };
    const auto figures = row.figures.value_or(planning::PlanFigures{});
    Json line = {row.chips,
                 or_none(figures.step_s),
                 or_none(figures.mfu),
                 or_none(static_cast<double>(figures.peak_bytes)),
                 row.figures ? Json(output::fit_words(studies::fit_of(Bytes(figures.peak_bytes), row.memory))) : Json(),
                 or_none(row.gap)};
    if (days) line.push_back(or_none(row.days));
    if (cost) line.push_back(or_none(row.cost));
    line.push_back(row.plan);
    line.push_back(row.placement);
    cells.push_back(std::move(line));
  }
  auto panel = table_panel("The best plan of each cluster", "Gap 0: proven.", columns, std::move(cells));
  panel["wide"] = true;
  return panel;
}

}  // namespace

std::optional<std::string> plan_report(const planning::PlanSpace& space, const planning::SearchResult& result,
                                       std::span<const planning::MemoryPoint> front, const Simulation* best) {
  const auto& base = space.base();
  ReportPage page("Plans of " + base.name, subtitle(base, output::chips_text(base)));
  page.add(headline(space, result));
  if (best != nullptr) {
    page.add({{"panel", "timeline"},
              {"title", "Timeline of the best plan"},
              {"runs", {page.data().nested(packed_timeline(base.name, *best))}}});
  }
  if (!result.best.empty()) {
    page.add(plans_panel(space, result));
    page.add(parts_panel(result));
    page.add(front_chart(space, front, page.data()));
    page.add(front_table(space, front));
  }
  if (best != nullptr) page.add(memory_panel(*best, page.data()));
  return page.html();
}

std::optional<std::string> chips_report(const scenario::Scenario& scenario, const std::vector<ChipsRow>& rows,
                                        const std::string& met) {
  const auto range = rows.empty() ? "" : count(rows.front().chips) + " to " + count(rows.back().chips) + " chips";
  ReportPage page("Plans of " + scenario.name + " over chips", subtitle(scenario, range));
  page.add(chips_headline(rows, met));
  if (std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.figures.has_value(); }))
    page.add(chips_chart(rows, page.data()));
  page.add(chips_table(rows));
  return page.html();
}

}  // namespace lockstep::report
