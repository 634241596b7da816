#pragma once
/// Builds Programs of a few ranks by hand, one call per operation.
#include <utility>
#include <vector>

#include "sim/program/program.hpp"

namespace lockstep::test {

/// Nominal ranks, all of stage 0, with streams "compute", "comm0" and "comm1".
inline program::Program ranks(std::int32_t count) {
  program::Program program;
  program.streams = {"compute", "comm0", "comm1"};
  program.stage_of_rank.assign(static_cast<std::size_t>(count), 0);
  program.slowdown_of_rank.assign(static_cast<std::size_t>(count), 1.0);
  return program;
}

inline std::int32_t add_link(program::Program& program, double bytes_per_second) {
  program.links.emplace_back(bytes_per_second);
  return static_cast<std::int32_t>(program.links.size()) - 1;
}

inline std::int32_t add_communicator(program::Program& program, std::int32_t slots,
                                     std::vector<collectives::ProgramGroup> groups) {
  const std::string name = "c" + std::to_string(program.communicators.size());
  program.communicators.push_back({name, slots, std::move(groups)});
  return static_cast<std::int32_t>(program.communicators.size()) - 1;
}

/// One rank alone with one flow over `links`.
inline std::int32_t add_lone_flow(program::Program& program, std::int32_t rank, std::vector<std::int32_t> links) {
  return add_communicator(program, 1, {{{rank}, {{0, std::move(links)}}}});
}

inline std::int32_t add_op(program::Program& program, program::ProgramOp& op) {
  op.vertex = static_cast<std::int32_t>(program.ops.size());
  program.ops.push_back(op);
  return static_cast<std::int32_t>(program.ops.size()) - 1;
}

inline std::int32_t add_compute(program::Program& program, double seconds, std::vector<std::int32_t> predecessors = {},
                                std::int32_t priority = 0, std::int32_t stream = 0, std::int32_t stage = 0) {
  program::ProgramOp op;
  op.streams = {stream};
  op.priority = priority;
  op.stage = stage;
  op.duration = Seconds(seconds);
  op.predecessors.assign(predecessors.begin(), predecessors.end());
  return add_op(program, op);
}

inline std::int32_t add_collective(program::Program& program, std::int32_t communicator,
                                   std::vector<collectives::Phase> phases,
                                   const std::vector<std::int32_t>& predecessors = {}, std::int32_t priority = 0,
                                   std::int32_t stream = 1) {
  program::ProgramOp op;
  op.kind = program::ProgramOp::Kind::collective;
  op.streams = {stream};
  op.priority = priority;
  op.communicator = communicator;
  op.phases = std::move(phases);
  op.predecessors.assign(predecessors.begin(), predecessors.end());
  return add_op(program, op);
}

/// Whatever the program has, so far, shares the chips of its ranks.
inline void share_chips(program::Program& program, double slowdown) {
  program.shared_slowdown = {slowdown};
  for (program::ProgramOp& op : program.ops) op.shares_chip = true;
}

/// A collective for the reference engine, which looks at nothing but its closed form.
inline std::int32_t add_timed_collective(program::Program& program, std::int32_t communicator, double seconds,
                                         const std::vector<std::int32_t>& predecessors = {}, std::int32_t priority = 0,
                                         std::int32_t stream = 1) {
  const std::int32_t op = add_collective(program, communicator, {}, predecessors, priority, stream);
  program.ops.back().closed_form = Seconds(seconds);
  return op;
}

}  // namespace lockstep::test
