#include "tools/output/results/timeline_picture.hpp"

#include <algorithm>
#include <vector>

#include "sim/core/quantity_text.hpp"
#include "sim/timing/whole_step.hpp"
#include "tools/output/elements/colours.hpp"
#include "tools/output/elements/svg.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/operation_words.hpp"

namespace lockstep::output {
namespace {

constexpr double width = 1100, left = 110, right = 20, top = 54, row = 46, gap = 10;

/// Compute, and what else runs something in the window; a pipeline has a stream per pair of stages.
std::vector<std::int32_t> streams_with_spans(const Simulation& simulation, Seconds from, Seconds to) {
  Indexed<program::StreamId, bool> used(simulation.program.streams.size(), false);
  used.front() = true;
  const auto rank = simulation.metrics.critical_rank;
  for (std::int32_t id = 0; id < simulation.run.timeline.ops(); ++id) {
    if (!simulation.run.timeline.took_part(id, rank)) continue;
    simulation.run.timeline.for_each_run(id, rank, [&](const timeline::Interval& span, std::int64_t) {
      if (span.end <= from || span.start >= to || span.end <= span.start) return;
      for (const auto stream : simulation.program.ops[id].streams) used[stream] = true;
    });
  }
  std::vector<std::int32_t> shown;
  for (const program::StreamId stream : used.ids()) {
    if (used[stream]) shown.push_back(stream);
  }
  return shown;
}

}  // namespace

Window middle_window(const Simulation& simulation) {
  const auto& step = simulation.preparation.step;
  const auto& timeline = simulation.run.timeline;
  const auto rank = simulation.metrics.critical_rank;
  const bool pipelined = simulation.metrics.stages.size() > 1;
  // A rank of a pipeline goes on to other microbatches between a forward and its backward: the backward alone is shown.
  const auto shown = [&](workloads::OpId id) {
    const auto& op = step.op(id);
    return op->kind == workloads::StepOp::Kind::compute && op.pass != workloads::StepPass::update &&
           (!pipelined || op.pass == workloads::StepPass::backward) && timeline.took_part(id, rank);
  };
  const timing::WholeStep whole(simulation.preparation.pipeline.order, step, timeline);
  const auto microbatch_of = [&](const timing::WholeStep::Run& run) {
    return timeline.repetition().microbatch(run.op, run.copy, step.op(run.op).microbatch);
  };
  int last = -1;  // of the rank's own blocks
  for (workloads::OpId id = 0; id < step.size(); ++id) {
    if (shown(id)) last = std::max(last, step.op(id).block);
  }
  std::vector<std::int64_t> microbatches;  // that run there, in order
  for (const auto& run : whole.runs()) {
    if (shown(run.op) && step.op(run.op).block == last &&
        (microbatches.empty() || microbatches.back() != microbatch_of(run)))
      microbatches.push_back(microbatch_of(run));
  }
  Window window{timeline.makespan(), Seconds(0)};
  if (microbatches.empty()) return {Seconds(0), timeline.makespan()};
  const auto microbatch = pipelined ? microbatches[microbatches.size() / 2] : microbatches.front();
  for (const auto& run : whole.runs()) {
    if (!shown(run.op) || microbatch_of(run) != microbatch || step.op(run.op).block < last - 3) continue;
    const auto span = timeline.span(run.op, rank, run.copy);
    window.from = std::min(window.from, span.start);
    window.to = std::max(window.to, span.end);
  }
  return window;
}

std::string timeline_picture(const scenario::Scenario& scenario, const Simulation& simulation, Seconds from,
                             Seconds to) {
  const auto& program = simulation.program;
  const auto& timeline = simulation.run.timeline;
  const auto rank = simulation.metrics.critical_rank;
  const auto shown = streams_with_spans(simulation, from, to);
  const double height = top + (row + gap) * static_cast<double>(shown.size()) + 40;
  const double scale = (width - left - right) / std::max((to - from).value(), 1e-12);
  auto x = [&](Seconds time) { return left + std::clamp((time - from).value(), 0.0, (to - from).value()) * scale; };
  auto y = [&](std::int32_t stream) {
    return top + (row + gap) * static_cast<double>(std::find(shown.begin(), shown.end(), stream) - shown.begin());
  };

  std::string out = svg::open(width, height);
  out += svg::text_at(left, 22, "start",
                      scenario.name + ", rank " + std::to_string(simulation.rank) + ": " + format(from) + " to " +
                          format(to) + " of a step of " + format(timeline.makespan()),
                      " font-size=\"15\"");
  out += svg::text_at(left, 42, "start", "compute: light forward, dark backward; a row of communication per mesh axis");
  for (const auto stream : shown) {
    const double at = y(stream);
    out += svg::text_at(left - 10, at + row / 2 + 4, "end", program.streams[stream]);
    out += "<rect x=\"" + fixed(left, 1) + "\" y=\"" + fixed(at, 1) + "\" width=\"" + fixed(width - left - right, 1) +
           "\" height=\"" + fixed(row, 0) + "\" fill=\"#8882\"/>\n";
  }
  Colours colours;
  const auto draw = [&](const program::ProgramOp& op, const timeline::Interval& span) {
    if (span.end <= from || span.start >= to || span.end <= span.start) return;
    const auto& vertex = simulation.preparation.step.op(op.vertex);
    for (const auto stream : op.streams) {
      const double wide = std::max(x(span.end) - x(span.start), 0.8);
      const char* edge =
          wide > 2 ? "\" stroke=\"#fff\" stroke-width=\"0.4\"" : "\"";  // an edge would hide a short send
      out += "<rect x=\"" + fixed(x(span.start), 2) + "\" y=\"" + fixed(y(stream), 1) + "\" width=\"" + fixed(wide, 2) +
             "\" height=\"" + fixed(row, 0) + "\" fill=\"" + colours.of(coloured_as(vertex)) + edge + "><title>" +
             svg::escaped(vertex->name + " " + format(span.end - span.start)) + "</title></rect>\n";
      const auto label = vertex->kind == workloads::StepOp::Kind::collective
                             ? std::string(book_name(vertex->collective))
                             : vertex->name;
      if (wide > 7.2 * static_cast<double>(label.size())) {
        out += svg::text_at(x(span.start) + wide / 2, y(stream) + row / 2 + 4, "middle", label,
                            " font-size=\"11\" fill=\"#fff\"");
      }
    }
  };
  for (std::int32_t id = 0; id < timeline.ops(); ++id) {
    if (!timeline.took_part(id, rank)) continue;
    timeline.for_each_run(id, rank, [&](const timeline::Interval& span, std::int64_t) { draw(program.ops[id], span); });
  }
  const double axis = top + (row + gap) * static_cast<double>(shown.size()) + 14;
  for (int tick = 0; tick <= 5; ++tick) {
    const auto time = from + (to - from) * (tick / 5.0);
    out += svg::text_at(x(time), axis, tick == 0 ? "start" : tick == 5 ? "end" : "middle", format(time));
  }
  return out + "</svg>\n";
}

}  // namespace lockstep::output
