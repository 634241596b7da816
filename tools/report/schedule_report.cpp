#include "tools/report/schedule_report.hpp"

#include <cmath>

#include "sim/core/counted.hpp"
#include "tools/output/elements/table.hpp"
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

std::optional<std::string> schedule_report(const output::ScheduleStudy& study) {
  const auto& shape = study.order.shape;
  ReportPage page("Pipeline schedule " + study.title(),
                  std::to_string(shape.ranks) + " ranks" +
                      (shape.chunks > 1 ? " of " + std::to_string(shape.chunks) + " chunks" : "") + ", " +
                      std::to_string(shape.whole_microbatches()) + " microbatches" +
                      (shape.slices > 1 ? " of " + std::to_string(shape.slices) + " slices" : "") + ", placement " +
                      std::string(name(shape.placement)));
  page.add(headline(study));
  page.add(timeline({timeline_run(study, page.data())}));
  page.add(bubbles(study));
  page.add(ranks(study));
  return page.html();
}

}  // namespace lockstep::report
