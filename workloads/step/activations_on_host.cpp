#include "workloads/step/activations_on_host_private.hpp"

namespace lockstep::workloads {

/// The model's last block keeps its activations on the chip, since its backward follows at once.
ActivationsOnHost::ActivationsOnHost(StepWriter& writer) : writer_(writer) {
  const auto& pipeline = writer.pipeline;
  const auto& shape = pipeline.order.shape;
  for (std::int32_t stage = 0; stage < shape.ranks; ++stage) {
    auto left = writer.options.offload.activation_layers;
    for (const auto virtual_stage : shape.virtual_stages_of(stage)) {
      const int first = pipeline.first_block[virtual_stage];
      for (int block = first; block < first + pipeline.blocks_of(virtual_stage) && left > 0; ++block) {
        if (!writer.kind(block).is_layer || block + 1 == writer.blocks()) continue;
        layers_.insert({stage, block});
        --left;
      }
    }
  }
}

void ActivationsOnHost::send_down(const StepPlace& place, PassVertices& forward) {
  std::set<BufferId> saved;
  for (const auto& step : writer_.kind(place.block).backward) {
    for (const int read : step.saved) {
      forward.for_each_buffer(read, [&](BufferId buffer) {
        if (writer_.graph.buffers[buffer].kind == MemoryKind::activations) saved.insert(buffer);
      });
    }
  }
  OpIds after;
  Bytes size(0);
  for (const auto buffer : saved) {
    merge(after, writer_.graph.buffers[buffer].producer);
    size += writer_.graph.buffers[buffer].size;
  }
  const auto down = writer_.add(place, StepPass::forward, writer_.transfer(to_host, "activations", size), after);
  for (const auto buffer : saved) writer_.read(buffer, down);
  forward.on_host = writer_.hold(MemoryKind::host, size, down, place.stage);
}

OpId ActivationsOnHost::bring_up(const StepPlace& place, PassVertices& forward, const OpIds& room) {
  if (forward.back_up) return *forward.back_up;
  const auto size = writer_.graph.buffers[forward.on_host].size;
  OpIds after{writer_.graph.buffers[forward.on_host].producer};
  merge(after, room);
  const auto up = writer_.add(place, StepPass::backward, writer_.transfer(from_host, "activations", size), after);
  writer_.read(forward.on_host, up);
  forward.back_up = up;
  forward.came_back = writer_.hold(MemoryKind::activations, size, up, place.stage);
  return up;
}

}  // namespace lockstep::workloads
