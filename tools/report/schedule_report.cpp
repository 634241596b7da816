#include "tools/report/schedule_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/core/counted.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/report/design_page.hpp"
#include "tools/report/panels.hpp"
#include "tools/report/timeline_writer.hpp"

namespace lockstep::report {
namespace {

using Json = ReportData::Json;

constexpr double ticks = 1e6;  // of a unit of time

std::int64_t in_ticks(double time) { return std::llround(time * ticks); }

std::string pass_of(const workloads::PipelineCell& cell) {
  if (cell.second) return "overlapped pair";
  switch (cell.first.work) {
    case workloads::PipelineWork::forward: return "forward";
    case workloads::PipelineWork::backward: return "backward";
    case workloads::PipelineWork::input_gradient: return "input gradient";
    case workloads::PipelineWork::weight_gradient: return "weight gradient";
  }
  return "";
}

std::string name_of(const workloads::PipelineAction& action) {
  return std::string(name(action.work)) + std::to_string(action.microbatch);
}

Json timeline_run(const output::ScheduleStudy& study, ReportData& data) {
  TimelineWriter writer(data);
  Json groups = Json::array();
  std::int32_t op = 0;
  for (std::size_t rank = 0; rank < study.order.ranks.size(); ++rank) {
    std::vector<TimelineSpan> spans;
    for (std::size_t i = 0; i < study.order.ranks[rank].size(); ++i) {
      const auto& cell = study.order.ranks[rank][i];
      const auto& span = study.timing.spans[rank][i];
      TimelineWork it;
      it.block = "stage " + std::to_string(cell.first.stage);
      it.name = name_of(cell.first) + (cell.second ? "&" + name_of(*cell.second) : "");
      it.kind = cell.to_string();
      it.pass = pass_of(cell);
      writer.add(it, {cell.first.microbatch, cell.second ? 1 : 0, {}});
      spans.push_back({in_ticks(span.start), in_ticks(span.end), op++});
    }
    groups.push_back(
        {{"name", "rank " + std::to_string(rank)}, {"note", ""}, {"lanes", {writer.lane("compute", true, spans)}}});
  }
  return writer.run(study.title(), in_ticks(study.timing.makespan), 0, std::move(groups));
}

Json timeline(Json runs) {
  return {
      {"panel", "timeline"},
      {"title", "Timeline"},
      {"note",
       "In units of the given times. F forward, I gradient of the input, W gradient of the weights, B whole backward."},
      {"ticks", ticks},
      {"runs", std::move(runs)}};
}

Json headline(const output::ScheduleStudy& study) {
  const auto step = study.worst_step(), span = study.worst_span();
  std::vector<std::string> remarks;
  if (study.form) {
    remarks.push_back("closed form " + study.form->expression + " = " + six_digits(study.form->value) +
                      (study.form->of == workloads::ClosedForm::Of::span ? " within the span" : " of the step") +
                      (study.form->applies ? "" : " (not exact here: " + study.form->conditions + ")"));
  }
  if (!study.remark.empty()) remarks.push_back(study.remark);
  return figures_panel("", remarks,
                       {{"makespan", study.timing.makespan, "number", "", ""},
                        {"bubble of the step", study.step_fraction(step), "share", "rank " + std::to_string(step), ""},
                        {"bubble of the span", study.span_fraction(span), "share", "rank " + std::to_string(span), ""},
                        {"most activations held", study.peak_microbatches(), "number", "microbatches", ""},
                        {"copies of parameters", static_cast<double>(study.parameter_copies()), "count", "", ""}});
}

Json ranks(const output::ScheduleStudy& study) {
  Json rows = Json::array();
  for (std::size_t rank = 0; rank < study.order.ranks.size(); ++rank) {
    rows.push_back({rank, study.timing.busy[rank], study.timing.bubble_step[rank], study.step_fraction(rank),
                    study.timing.bubble_span[rank], study.span_fraction(rank), study.held.until_weight_gradient[rank]});
  }
  return table_panel("Ranks",
                     "Activations are held from the forward to the end of the weight gradient, counted in chunks.",
                     {{"rank", "count"},
                      {"busy", "number"},
                      {"bubble, step", "number"},
                      {"", "share"},
                      {"bubble, span", "number"},
                      {"", "share"},
                      {"activations held", "count"}},
                     std::move(rows));
}

Json bubbles(const output::ScheduleStudy& study) {
  std::vector<BarRow> rows;
  for (std::size_t rank = 0; rank < study.order.ranks.size(); ++rank) {
    const double within = study.timing.bubble_span[rank];
    rows.push_back({"rank " + std::to_string(rank),
                    {{"busy", study.timing.busy[rank], "computing"},
                     {"bubble within the span", within, "dependency"},
                     {"before and after", study.timing.bubble_step[rank] - within, "idle"}}});
  }
  return bars_panel("Busy and idle", "", "number", rows);
}

std::string subtitle(const output::ScheduleStudy& study) {
  const auto& shape = study.order.shape;
  return std::to_string(shape.ranks) + " ranks" +
         (shape.chunks > 1 ? " of " + std::to_string(shape.chunks) + " chunks" : "") + ", " +
         std::to_string(shape.whole_microbatches()) + " microbatches" +
         (shape.slices > 1 ? " of " + std::to_string(shape.slices) + " slices" : "") + ", placement " +
         std::string(name(shape.placement));
}

// ---- a designed one --------------------------------------------------------------------------------

std::vector<Figure> design_figures(const output::ScheduleStudy& study) {
  const auto& design = *study.design;
  const auto worst = study.worst_step();
  std::vector<Figure> figures = {{"makespan", study.timing.makespan, "number", "", ""},
                                 {"lower bound", design.lower_bound, "number", "", ""},
                                 {"gap", design.gap, "share", "", design.gap < 1e-6 ? "good" : ""}};
  if (!design.published.empty())
    figures.push_back(
        {"best published", design.published.front().makespan, "number", design.published.front().schedule, ""});
  figures.push_back({"bubble of the step", study.step_fraction(worst), "share", "rank " + std::to_string(worst), ""});
  return figures;
}

/// What each rank waits for, the rival's above that of the design.
Json waits_panel(const output::ScheduleStudy& study, const output::ScheduleStudy* rival) {
  constexpr std::array<const char*, 4> colours = {"fill", "transfer", "dependency", "drain"};
  std::vector<BarRow> rows;
  const auto add = [&](const output::ScheduleStudy& of, const output::RankWaits& waits, std::size_t rank, bool both) {
    BarRow row{"rank " + std::to_string(rank) + (both ? ", " + of.title() : ""),
               {{"busy", of.timing.busy[rank], "computing"}}};
    for (std::size_t i = 0; i < colours.size(); ++i)
      row.pieces.push_back({std::string("idle ") + output::waits_for[i], waits.idle[i], colours[i]});
    rows.push_back(std::move(row));
  };
  const auto own = output::waits_of(study.order, study.times);
  const auto theirs = rival == nullptr ? own : output::waits_of(rival->order, rival->times);
  for (std::size_t rank = 0; rank < own.size(); ++rank) {
    if (rival != nullptr) add(*rival, theirs[rank], rank, true);
    add(study, own[rank], rank, rival != nullptr);
  }
  auto panel = bars_panel("What each rank waits for", "", "number", rows);
  panel["wide"] = true;
  return panel;
}

Json published_panel(const output::ScheduleStudy& study) {
  const auto& design = *study.design;
  Json rows = Json::array();
  const auto row = [&](const std::string& name, double makespan) {
    rows.push_back({name, makespan, design.lower_bound > 0 ? makespan / design.lower_bound - 1 : 0});
  };
  row(study.title(), study.timing.makespan);
  for (const auto& rival : design.published) row(rival.schedule, rival.makespan);
  return table_panel("Beside the published schedules",
                     "Those that stand on the same placement and stay within the same limits. No order ends before " +
                         six_digits(design.lower_bound) + ": the bound is " + design.bounded_by + ".",
                     {{"schedule", ""}, {"makespan", "number"}, {"over the bound", "share"}}, std::move(rows));
}

std::optional<std::string> designed_report(const output::ScheduleStudy& study, const Reproduction& again) {
  const auto& design = *study.design;
  auto page = design_page("Designed pipeline schedule", subtitle(study), design.reasons, design_figures(study));
  std::optional<output::ScheduleStudy> rival;
  if (design.best_published) rival = output::study_order(*design.best_published, study.times, std::nullopt);
  page.add(waits_panel(study, rival ? &*rival : nullptr));
  const double until = std::max(study.timing.makespan, rival ? rival->timing.makespan : 0);
  page.add(picture_panel("The designed order", "", schedule_picture(study, until)));
  if (rival) page.add(picture_panel("The best published order", "", schedule_picture(*rival, until)));
  Json runs = Json::array({timeline_run(study, page.data())});
  if (rival) runs.push_back(timeline_run(*rival, page.data()));
  page.add(timeline(std::move(runs)));
  page.add(published_panel(study));
  page.add(ranks(study));
  page.add(again_panel(again));
  return page.html();
}

// ---- several ---------------------------------------------------------------------------------------

Json comparison_headline(std::span<const output::ComparedSchedule> schedules) {
  std::vector<Figure> figures;
  const output::ComparedSchedule* shortest = nullptr;
  for (const auto& one : schedules) {
    if (!one.study) continue;
    const auto& study = *one.study;
    figures.push_back({one.name, study.timing.makespan, "number",
                       "bubble of the step " + output::percent(study.step_fraction(study.worst_step())), ""});
    if (shortest == nullptr || study.timing.makespan < shortest->study->timing.makespan) shortest = &one;
  }
  return figures_panel(shortest == nullptr
                           ? "None of these schedules can be had"
                           : shortest->name + " has the shortest step: " + six_digits(shortest->study->timing.makespan),
                       {}, figures);
}

Json comparison_bars(std::span<const output::ComparedSchedule> schedules) {
  std::vector<BarRow> rows;
  for (const auto& one : schedules) {
    if (!one.study) continue;
    const auto rank = one.study->worst_step();
    const auto& timing = one.study->timing;
    rows.push_back({one.name,
                    {{"busy", timing.busy[rank], "computing"},
                     {"bubble within the span", timing.bubble_span[rank], "dependency"},
                     {"before and after", timing.bubble_step[rank] - timing.bubble_span[rank], "idle"}}});
  }
  auto panel = bars_panel("Busy and idle", "The rank with the longest bubble.", "number", rows);
  panel["wide"] = true;
  return panel;
}

Json comparison_table(std::span<const output::ComparedSchedule> schedules) {
  Json rows = Json::array();
  for (const auto& one : schedules) {
    if (!one.study) {
      rows.push_back({one.name, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, "cannot be had: " + one.refused});
      continue;
    }
    const auto& study = *one.study;
    rows.push_back({one.name, study.order.shape.chunks, study.timing.makespan, study.step_fraction(study.worst_step()),
                    study.span_fraction(study.worst_span()), study.peak_microbatches(), study.parameter_copies(),
                    study.form ? study.form->expression + " = " + six_digits(study.form->value) : "none"});
  }
  auto panel = table_panel("Numbers",
                           "Bubbles on the worst rank; activations in microbatches through a rank's whole share, until "
                           "the weight gradient.",
                           {{"schedule", ""},
                            {"chunks", "count"},
                            {"makespan", "number"},
                            {"bubble, step", "share"},
                            {"bubble, span", "share"},
                            {"activations", "number"},
                            {"copies of parameters", "count"},
                            {"closed form", ""}},
                           std::move(rows));
  panel["wide"] = true;
  return panel;
}

}  // namespace

std::optional<std::string> schedules_report(std::span<const output::ComparedSchedule> schedules, std::int32_t ranks,
                                            std::int32_t microbatches) {
  Json runs = Json::array();
  ReportPage page("Pipeline schedules", "equal devices and equal work: " + std::to_string(ranks) + " ranks, " +
                                            std::to_string(microbatches) + " microbatches");
  for (const auto& one : schedules) {
    if (one.study) runs.push_back(timeline_run(*one.study, page.data()));
  }
  page.add(comparison_headline(schedules));
  if (!runs.empty()) {
    page.add(timeline(std::move(runs)));
    page.add(comparison_bars(schedules));
  }
  page.add(comparison_table(schedules));
  return page.html();
}

std::optional<std::string> schedule_report(const output::ScheduleStudy& study, const Reproduction& again) {
  if (study.design) return designed_report(study, again);
  ReportPage page("Pipeline schedule " + study.title(), subtitle(study));
  page.add(headline(study));
  page.add(timeline({timeline_run(study, page.data())}));
  page.add(bubbles(study));
  page.add(ranks(study));
  page.add(again_panel(again));
  return page.html();
}

}  // namespace lockstep::report
