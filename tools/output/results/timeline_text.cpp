#include "sim/core/quantity_text.hpp"
#include "sim/timing/whole_step.hpp"
#include "tools/output/results/summary.hpp"

namespace lockstep::output {

std::string timeline_text(const Simulation& simulation) {
  const auto& step = simulation.preparation.step;
  const auto& timeline = simulation.run.timeline;
  const auto rank = simulation.metrics.critical_rank;
  std::string text = "timeline of rank " + std::to_string(simulation.rank) + " (start and end in s)\n";
  const timing::WholeStep whole(simulation.preparation.pipeline.order, step, timeline);
  for (const auto& [id, copy] : whole.runs()) {
    if (!timeline.took_part(id, rank)) continue;
    const auto& op = simulation.program.ops[id];
    const auto& vertex = step.op(op.vertex);
    const auto span = timeline.span(id, rank, copy);
    text += "  " + exact(span.start.value()) + " " + exact(span.end.value());
    for (const auto stream : op.streams) text += " " + simulation.program.streams[stream];
    text += " | " + step.block_names[vertex.block] + " " + std::string(name(vertex.pass)) + ": " + vertex->name + "\n";
  }
  return text;
}

}  // namespace lockstep::output
