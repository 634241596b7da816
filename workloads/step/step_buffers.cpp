#include "workloads/step/step_buffers_private.hpp"

namespace lockstep::workloads {

BufferId StepBuffers::begin(const StepPlace& place, StepPass pass) {
  const auto first = writer_.graph.buffers.count();
  if (!writer_.remembers()) return first;
  for (const auto& step : writer_.steps(place, pass))
    writer_.hold(step.output_kind, scaled(step.output, writer_.load(place, step)), -1, place.stage);
  return first;
}

void StepBuffers::end(const StepPlace& place, StepPass pass, const ChosenSteps& chosen, const PassVertices& vertices) {
  if (!writer_.remembers()) return;
  const auto& steps = writer_.steps(place, pass);
  for (const BlockStepId i : steps.ids()) {
    if (!chosen[i]) continue;
    const auto written = vertices.of_step[i];
    writer_.graph.buffers[vertices.first_buffer + i].producer = written;
    for (const int read : steps[i].after)
      vertices.for_each_buffer(read, [&](BufferId buffer) { writer_.read(buffer, written); });
  }
  if (pass == StepPass::backward) hold_for_earlier_slices(place, chosen, vertices);
}

/// Gradients of the keys and values of earlier slices, which the slice before adds its own to.
void StepBuffers::hold_for_earlier_slices(const StepPlace& place, const ChosenSteps& chosen,
                                          const PassVertices& vertices) {
  if (writer_.pipeline.order.shape.slices == 1) return;
  const auto& steps = writer_.steps(place, StepPass::backward);
  for (const BlockStepId i : steps.ids()) {
    if (!chosen[i]) continue;
    if (const auto later = for_earlier_.extract({place.block, i, place.microbatch + 1}))
      writer_.read(later.mapped(), vertices.of_step[i]);
    if (steps[i].for_earlier.value() == 0) continue;
    for_earlier_[{place.block, i, place.microbatch}] =
        writer_.hold(MemoryKind::activations, steps[i].for_earlier, vertices.of_step[i], place.stage);
  }
}

void StepBuffers::read_forward(const StepPlace& place, const ChosenSteps& chosen, const PassVertices& forward,
                               const PassVertices& backward) {
  if (!writer_.remembers()) return;
  const auto& steps = writer_.kind(place.block).backward;
  for (const BlockStepId i : steps.ids()) {
    if (!chosen[i]) continue;
    for (const int saved : steps[i].saved) {
      forward.for_each_buffer(saved, [&](BufferId buffer) {
        const bool moved = forward.back_up && writer_.graph.buffers[buffer].kind == MemoryKind::activations;
        writer_.read(moved ? forward.came_back : buffer, backward.of_step[i]);
      });
    }
  }
}

}  // namespace lockstep::workloads
