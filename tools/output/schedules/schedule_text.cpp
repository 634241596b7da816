#include <algorithm>
#include <cmath>

#include "sim/core/counted.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/schedules/schedule_study.hpp"

namespace lockstep::output {
namespace {

constexpr int widest_timeline = 100;
constexpr std::size_t most_rows = 64;  // of a timeline or of the table of ranks

std::string with_share(double value, double fraction) { return six_digits(value) + " (" + percent(fraction) + ")"; }

/// ", a slice 1/4 of them", or the share of each slice.
std::string slices_text(const workloads::PipelineTimes& times) {
  const auto& shares = times.slices;
  if (shares.size() < 2) return "";
  const auto first = shares.front();
  if (std::all_of(shares.begin(), shares.end(), [&](double share) { return share == first; }))
    return ", a slice takes 1/" + std::to_string(shares.size()) + " of them";
  std::string text = ", of which its slices take";
  for (const double share : shares) text += " " + six_digits(share);
  return text;
}

std::string times_text(const workloads::PipelineTimes& times, const std::string& of_what) {
  const auto& stages = times.stages;
  std::string text = "times " + of_what + slices_text(times) + ": ";
  if (stages.size() == 1) {
    const auto& t = stages[0];
    text += "F = " + six_digits(t.forward) + ", I = " + six_digits(t.input_gradient) +
            ", W = " + six_digits(t.weight_gradient) +
            ", B = I + W = " + six_digits(t.input_gradient + t.weight_gradient);
  } else {
    text += "differ by stage; first F = " + six_digits(stages.front().forward) +
            ", last F = " + six_digits(stages.back().forward);
  }
  text += "; latency c = " + six_digits(times.latency) + " between ranks";
  if (times.pair) text += "; overlapped pair F&B = " + six_digits(*times.pair);
  return text + "\nF forward, I gradient of the input, W gradient of the weights, B whole backward\n";
}

/// A digit or letter tells the microbatch modulo 10.
char mark(const workloads::PipelineCell& cell) {
  if (cell.second) return '#';
  const auto m = static_cast<char>(cell.first.microbatch % 10);
  switch (cell.first.work) {
    case workloads::PipelineWork::forward: return static_cast<char>('0' + m);
    case workloads::PipelineWork::backward:
    case workloads::PipelineWork::input_gradient: return static_cast<char>('a' + m);
    case workloads::PipelineWork::weight_gradient: return '+';
  }
  return ' ';
}

/// One line per rank; nothing if that would not be readable.
std::string timeline_text(const ScheduleStudy& study) {
  const auto& order = study.order;
  const double makespan = study.timing.makespan;
  if (order.ranks.size() > most_rows || makespan <= 0) return "";
  double shortest = makespan;
  for (std::size_t rank = 0; rank < order.ranks.size(); ++rank) {
    for (const auto& span : study.timing.spans[rank]) {
      if (span.end > span.start) shortest = std::min(shortest, span.end - span.start);
    }
  }
  const double unit = std::max(shortest, makespan / widest_timeline);
  const auto columns = static_cast<std::size_t>(std::ceil(makespan / unit * (1 - 1e-9)));
  const auto digits = std::to_string(order.ranks.size() - 1).size();
  std::string text;
  for (std::size_t rank = 0; rank < order.ranks.size(); ++rank) {
    std::string line(columns, '.');
    const auto& spans = study.timing.spans[rank];
    std::size_t next = 0;
    for (std::size_t column = 0; column < columns; ++column) {
      const double middle = (static_cast<double>(column) + 0.5) * unit;
      while (next < spans.size() && spans[next].end <= middle) ++next;
      if (next < spans.size() && spans[next].start <= middle) line[column] = mark(order.ranks[rank][next]);
    }
    const auto name = std::to_string(rank);
    text += "rank " + std::string(digits - name.size(), ' ') + name + " |" + line + "|\n";
  }
  const std::string unit_of_work = order.shape.slices > 1 ? "slice" : "microbatch";
  return text + "a column is " + six_digits(unit) + "; 0-9 forward of a " + unit_of_work + " (modulo 10), a-j its " +
         (std::string("backward or input gradient, + weight gradient, # overlapped pair, . idle\n\n"));
}

std::string form_value(const workloads::ClosedForm& form, bool with_latency) {
  std::string text = form.expression + " = " + six_digits(form.value);
  if (!with_latency) return text;
  if (form.latency_value) {
    return text + "; with " + form.latency_expression + " = " + six_digits(*form.latency_value) + " of latency " +
           six_digits(form.value + *form.latency_value);
  }
  if (form.latency_expression.empty()) return text + "; no form of what latency adds";
  return text + "; latency adds " + form.latency_expression + " only if " + form.latency_conditions;
}

std::string form_text(const ScheduleStudy& study) {
  if (!study.form) return "closed form: none\n";
  const auto& form = *study.form;
  const bool of_step = form.of == workloads::ClosedForm::Of::step;
  const double simulated =
      of_step ? study.timing.bubble_step[study.worst_step()] : study.timing.bubble_span[study.worst_span()];
  std::string text = std::string("closed form, bubble of the ") + (of_step ? "step" : "span") + ": " +
                     form_value(form, study.times.latency > 0) + "; simulated " + six_digits(simulated) + "\n  ";
  if (form.conditions.empty())
    text += "applies always";
  else
    text += (form.applies ? "applies: " + form.conditions : "DOES NOT APPLY here, it needs " + form.broken);
  text += "\n  " + form.symbols + "\n";
  if (!form.note.empty()) text += "  " + form.note + "\n";
  if (form.activations) {
    text += "closed form, peak activations: " + form.activations_expression + " = " + six_digits(*form.activations) +
            " microbatches; simulated " + six_digits(study.peak_microbatches()) + "\n";
  }
  return text;
}

std::string ranks_text(const ScheduleStudy& study) {
  const auto& timing = study.timing;
  Table table({"rank", "busy", "bubble of step", "bubble of span", "peak activations until W", "until I"});
  for (std::size_t rank = 0; rank < std::min(study.order.ranks.size(), most_rows); ++rank) {
    table.add({std::to_string(rank), six_digits(timing.busy[rank]),
               with_share(timing.bubble_step[rank], study.step_fraction(rank)),
               with_share(timing.bubble_span[rank], study.span_fraction(rank)),
               std::to_string(study.held.until_weight_gradient[rank]),
               std::to_string(study.held.until_input_gradient[rank])});
  }
  auto text = table.to_string();
  if (study.order.ranks.size() > most_rows)
    text += "... " + std::to_string(study.order.ranks.size() - most_rows) + " more ranks: --json\n";
  const auto step = study.worst_step(), span = study.worst_span();
  text += "worst: rank " + std::to_string(step) + " idles " +
          with_share(timing.bubble_step[step], study.step_fraction(step)) + " of the step; rank " +
          std::to_string(span) + " " + with_share(timing.bubble_span[span], study.span_fraction(span)) +
          " of its span\n";
  return text +
         "bubble of step = makespan - busy; of span = last end - first start - busy; activations in chunks held" +
         (study.order.shape.slices > 1 ? ", each by a slice\n" : "\n");
}

/// The bound, the best of the others, and why.
std::string design_text(const ScheduleStudy& study) {
  constexpr std::size_t most_rivals = 5;
  const auto& design = *study.design;
  std::string text = "lower bound " + six_digits(design.lower_bound) + ", gap " + percent(design.gap) +
                     "; the bound is " + design.bounded_by + "\n";
  if (!design.published.empty()) {
    text += "published schedules under the same limits:";
    for (std::size_t i = 0; i < std::min(design.published.size(), most_rivals); ++i)
      text += (i == 0 ? " " : ", ") + design.published[i].schedule + " " + six_digits(design.published[i].makespan);
    text += design.published.size() > most_rivals ? ", ...\n" : "\n";
  }
  text += lines_of(design.reasons);
  if (design.stopped)
    text += design.gap < 1e-9 ? "The searches for what would change it were stopped.\n"
                              : "The search was stopped; a longer one may find a shorter order.\n";
  return text;
}

}  // namespace

std::string schedule_text(const ScheduleStudy& study) {
  const auto& shape = study.order.shape;
  std::string text = study.title() + ": P = " + std::to_string(shape.ranks) + (shape.ranks == 1 ? " rank" : " ranks") +
                     ", M = " + std::to_string(shape.whole_microbatches()) +
                     (shape.whole_microbatches() == 1 ? " microbatch" : " microbatches") +
                     (shape.slices > 1 ? " of n = " + std::to_string(shape.slices) + " slices" : "") +
                     ", V = " + std::to_string(shape.chunks) + (shape.chunks == 1 ? " chunk" : " chunks") +
                     " per rank, placement " + std::string(name(shape.placement)) + "\n";
  if (!study.remark.empty()) text += study.remark + "\n";
  text += times_text(study.times, "of one microbatch on one chunk");
  text += "makespan " + six_digits(study.timing.makespan) + "\n\n" + timeline_text(study) + ranks_text(study) + "\n" +
          (study.design ? design_text(study) : form_text(study));
  return text;
}

std::string comparison_text(std::span<const ComparedSchedule> schedules, const workloads::PipelineTimes& rank_times,
                            std::int32_t ranks, std::int32_t microbatches) {
  std::string text = "Equal devices and equal work: P = " + std::to_string(ranks) +
                     " ranks, M = " + std::to_string(microbatches) + " microbatches\n";
  text +=
      times_text(rank_times, "of one microbatch through a rank's whole share of the model, a chunk takes 1/V of them");
  text +=
      "bubbles on the worst rank; activations in microbatches through a rank's whole share, until the weight "
      "gradient\n\n";
  Table table({"schedule", "V", "makespan", "bubble of step", "bubble of span", "closed form", "of", "applies",
               "activations", "parameters"});
  std::string refusals;
  for (const auto& row : schedules) {
    if (!row.study) {
      refusals += row.name + ": cannot be had: " + row.refused + "\n";
      table.add({row.name, "-", "-", "-", "-", "-", "-", "-", "-", "-"});
      continue;
    }
    const auto& study = *row.study;
    const auto step = study.worst_step(), span = study.worst_span();
    std::vector<std::string> cells = {row.name, std::to_string(study.order.shape.chunks),
                                      six_digits(study.timing.makespan),
                                      with_share(study.timing.bubble_step[step], study.step_fraction(step)),
                                      with_share(study.timing.bubble_span[span], study.span_fraction(span))};
    if (const auto& form = study.form) {
      const auto value = form->value + form->latency_value.value_or(0);
      cells.insert(cells.end(), {six_digits(value), form->of == workloads::ClosedForm::Of::step ? "step" : "span",
                                 form->applies ? "yes" : "no"});
    } else {
      cells.insert(cells.end(), {"none", "", ""});
    }
    cells.push_back(six_digits(study.peak_microbatches()));
    cells.push_back(std::to_string(study.parameter_copies()) + "x");
    table.add(cells);
  }
  text += table.to_string();
  if (!refusals.empty()) text += "\n" + refusals;
  for (const auto& row : schedules) {
    if (row.study && row.study->design) text += "\n" + row.name + ": " + design_text(*row.study);
  }
  return text;
}

}  // namespace lockstep::output
