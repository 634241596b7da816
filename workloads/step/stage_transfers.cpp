#include "workloads/step/stage_transfers_private.hpp"

#include <utility>

namespace lockstep::workloads {
namespace {

/// What the next stage waits for: the stream, and what its first layer attends to if a layer of this stage chose it.
Bytes handed_over(StepPass pass, const ShardedLayer& border) {
  return border.input_bytes + (pass == StepPass::forward ? border.choice_bytes : Bytes(0));
}

std::string handed_on(StepPass pass) { return pass == StepPass::forward ? "activations" : "gradients"; }

}  // namespace

Handover StageTransfers::send(const Handover& handed, const StepPlace& place, StepPass pass, const Way& way,
                              const ShardedLayer& border) {
  const auto parts = writer_.options.scatter_sends ? border.input_copies : 1;
  auto& work = sends_[{way.from_virtual_stage, way.to_virtual_stage, place.stage, &border}];
  if (work == nullptr) {
    StepWork made;
    made.kind = StepWork::Kind::collective;
    made.collective = CollectiveKind::point_to_point;
    made.axes = {"pipeline"};
    made.full_size = Bytes((handed_over(pass, border).value() + parts - 1) / parts);
    made.name = "Send_pipeline " + handed_on(pass);
    made.detail = "stage " + std::to_string(place.stage) + " -> stage " + std::to_string(way.to_stage) +
                  ", virtual stage " + std::to_string(way.from_virtual_stage) + " -> " +
                  std::to_string(way.to_virtual_stage);
    made.reason = "the virtual stages stand on different stages";
    work = writer_.graph.share(std::move(made));
  }
  auto op = StepWriter::at(place, pass, work);
  op.other_stage = way.to_stage;
  const auto id = writer_.add(op, handed.ops);
  for (const auto buffer : handed.buffers) writer_.read(buffer, id);
  const Handover sent{{id}, {writer_.hold(MemoryKind::activations, work->full_size, id, way.to_stage)}};
  if (parts == 1) return sent;
  auto there = place;
  there.stage = way.to_stage;
  return gather(sent, there, pass, place.stage, border);
}

Handover StageTransfers::gather(const Handover& part, const StepPlace& place, StepPass pass, std::int32_t from_stage,
                                const ShardedLayer& border) {
  auto& work = gathers_[{from_stage, place.stage, &border, pass}];
  if (work == nullptr) {
    StepWork made;
    made.kind = StepWork::Kind::collective;
    made.collective = CollectiveKind::all_gather;
    made.axes = border.input_copied_over;
    made.full_size = handed_over(pass, border);
    made.name = std::string(book_name(made.collective)) + "_" + subscript(made.axes) + " " + handed_on(pass);
    made.detail = "from stage " + std::to_string(from_stage) + " in " + std::to_string(border.input_copies) + " parts";
    made.reason = "each rank was sent a part of what all of them hold";
    work = writer_.graph.share(std::move(made));
  }
  const auto id = writer_.add(StepWriter::at(place, pass, work), part.ops);
  for (const auto buffer : part.buffers) writer_.read(buffer, id);
  return {{id}, {writer_.hold(MemoryKind::activations, handed_over(pass, border), id, place.stage)}};
}

}  // namespace lockstep::workloads
