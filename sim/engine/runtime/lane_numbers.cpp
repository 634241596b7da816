#include "sim/engine/runtime/lane_numbers.hpp"

namespace lockstep::engine {
namespace {

constexpr std::int32_t unused = -1, used = 0;

std::int32_t stages_of(const program::Program& program) {
  std::int32_t stages = 0;
  for (const auto stage : program.stage_of_rank) stages = std::max(stages, stage + 1);
  return stages;
}

}  // namespace

LaneNumbers::LaneNumbers(const program::Program& program)
    : of_stage_(stages_of(program), program.streams.size(), unused) {
  const auto stages = stages_of(program);
  Grid<program::CommunicatorId, program::StreamId, char> seen(program.communicators.size(), program.streams.size());
  for (const program::ProgramOp& op : program.ops) {
    for (const auto stream : op.streams) {
      if (op.kind == program::ProgramOp::Kind::compute) {
        if (op.stage >= 0 && op.stage < stages) of_stage_(op.stage, stream) = used;
      } else if (std::exchange(seen(op.communicator, stream), 1) == 0) {
        for (const auto& group : program.communicators[op.communicator].groups) {
          for (const auto rank : group.members) of_stage_(program.stage_of_rank[rank], stream) = used;
        }
      }
    }
  }
  Indexed<workloads::StageId, std::int32_t> lanes(stages, 0);
  for (const auto stage : lanes.ids()) {
    for (const auto stream : program.streams.ids()) {
      if (of_stage_(stage, stream) == used) of_stage_(stage, stream) = lanes[stage]++;
    }
  }
  ranks_.reserve(program.stage_of_rank.size());
  for (const auto stage : program.stage_of_rank) {
    ranks_.push_back({count_, stage});
    count_ += lanes[stage];
  }
}

}  // namespace lockstep::engine
