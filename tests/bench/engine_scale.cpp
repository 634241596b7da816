// How fast the engine runs a symmetric step unfolded: ranks = tensor x fsdp; per layer a few compute
// operations with a tensor collective after each (groups of `tensor` ranks, 2 flows) and an fsdp
// collective per layer (groups of `fsdp` ranks, `fsdp` flows) that overlaps with them.
//   engine_scale [fsdp [tensor [layers [slowed ranks [reference]]]]]
#include <spdlog/logger.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "sim/engine/engine.hpp"

namespace {

using namespace lockstep;

constexpr std::int32_t compute_per_tensor_collective = 4;
constexpr std::int32_t tensor_collectives_per_layer = 10;
constexpr std::int32_t fsdp_collectives_per_layer = 4;

struct Shape {
  std::int32_t fsdp;
  std::int32_t tensor;
  std::int32_t layers;
  std::int32_t slowed;
};

/// Ring links of `size` ranks; flow i crosses link i (or all of them, in `macro_flows` flows).
collectives::ProgramGroup ring(program::Program& program, std::vector<std::int32_t> members, std::int32_t flows) {
  collectives::ProgramGroup group{std::move(members), {}};
  const auto first = static_cast<std::int32_t>(program.links.size());
  const auto size = static_cast<std::int32_t>(group.members.size());
  const std::int32_t per_flow = size / flows;
  program.links.insert(program.links.end(), static_cast<std::size_t>(size), BytesPerSecond(100e9));
  for (std::int32_t flow = 0; flow < flows; ++flow) {
    collectives::Flow crossing{0, {}};
    for (std::int32_t link = 0; link < per_flow; ++link) crossing.links.push_back(first + flow * per_flow + link);
    group.flows.push_back(crossing);
  }
  return group;
}

program::Program synthetic(const Shape& shape) {
  program::Program program;
  program.streams = {"compute", "tensor", "fsdp"};
  const std::int32_t ranks = shape.fsdp * shape.tensor;
  program.stage_of_rank.assign(static_cast<std::size_t>(ranks), 0);
  program.slowdown_of_rank.assign(static_cast<std::size_t>(ranks), 1.0);
  for (std::int32_t rank = 0; rank < shape.slowed; ++rank)
    program.slowdown_of_rank[static_cast<std::size_t>(rank * 7)] = 1.01;

  collectives::Communicator tensor{"tensor", 1, {}};
  for (std::int32_t group = 0; group < shape.fsdp; ++group) {
    std::vector<std::int32_t> members;
    for (std::int32_t i = 0; i < shape.tensor; ++i) members.push_back(group * shape.tensor + i);
    tensor.groups.push_back(ring(program, members, 2));
  }
  collectives::Communicator fsdp{"fsdp", 1, {}};
  for (std::int32_t group = 0; group < shape.tensor; ++group) {
    std::vector<std::int32_t> members;
    for (std::int32_t i = 0; i < shape.fsdp; ++i) members.push_back(i * shape.tensor + group);
    fsdp.groups.push_back(ring(program, members, shape.fsdp / 2));
  }
  program.communicators = {tensor, fsdp};

  std::int32_t last = -1;
  std::int32_t last_gather = -1;
  const auto add = [&](const program::ProgramOp& op) {
    program.ops.push_back(op);
    return static_cast<std::int32_t>(program.ops.size()) - 1;
  };
  const auto collective = [](std::int32_t communicator, double bytes) {
    program::ProgramOp op;
    op.kind = program::ProgramOp::Kind::collective;
    op.communicator = communicator;
    op.streams = {communicator + 1};
    op.phases = {{Seconds(5e-6), {bytes}}};
    op.closed_form = Seconds(5e-6 + bytes / 100e9);
    return op;
  };
  for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
    for (std::int32_t i = 0; i < tensor_collectives_per_layer; ++i) {
      if (i < fsdp_collectives_per_layer) {
        program::ProgramOp gather = collective(1, 30e6);
        if (last_gather >= 0) gather.predecessors = {last_gather};
        last_gather = add(gather);
      }
      for (std::int32_t k = 0; k < compute_per_tensor_collective; ++k) {
        program::ProgramOp op;
        op.streams = {0};
        op.duration = Seconds(1e-4 + 1e-6 * k);
        if (last >= 0) op.predecessors = {last};
        last = add(op);
      }
      program::ProgramOp reduce = collective(0, 10e6);
      reduce.predecessors = {last};
      last = add(reduce);
    }
  }
  return program;
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int index, std::int32_t fallback) {
    return argc > index ? std::atoi(argv[index]) : fallback;
  };
  const Shape shape{argument(1, 2240), argument(2, 4), argument(3, 80), argument(4, 0)};
  const program::Program program = synthetic(shape);
  spdlog::logger silent("bench");
  engine::EngineOptions options;
  if (argc > 5 && std::string(argv[5]) == "reference") options.kind = engine::EngineKind::reference;
  const engine::EngineResult result = run(program, options, silent);

  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const engine::EngineStatistics& done = result.statistics;
  std::printf(
      "%zu ops, %d ranks, makespan %.9g s: %.2f s wall, %.3g activities (%.3g /s), %.3g flows (%.3g /s), %ld MB\n",
      program.ops.size(), program.ranks(), result.timeline.makespan().value(), done.wall_seconds,
      static_cast<double>(done.activities), static_cast<double>(done.activities) / done.wall_seconds,
      static_cast<double>(done.flows), static_cast<double>(done.flows) / done.wall_seconds, usage.ru_maxrss / 1024);
  return 0;
}
