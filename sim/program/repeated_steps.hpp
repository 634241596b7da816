#pragma once
/// Steps one after another in one program: each begins when the last rank has ended the one before.
#include <cstdint>
#include <vector>

#include "sim/program/program.hpp"

namespace lockstep::program {

/// Operations with which a rank of some stage may begin or end a step.
struct StepBorders {
  Indexed<ProgramOpId, bool> first;
  std::vector<ProgramOpId> last;
};
[[nodiscard]] StepBorders borders_of(const Program& step);

/// The numbers at which a step's stages, communicators and kinds of chips begin in a larger program.
struct StepOffsets {
  workloads::StageId stage = 0;
  CommunicatorId communicator = 0;
  topologies::ChipKindId chip = 0;
};
/// Adds the operations of a step to a program that has its streams, ranks and communicators, after operation `before`
/// (-1: from the beginning), its kernels launched from `launch` on.
void append_step(Program& all, const Program& step, const StepBorders& borders, ProgramOpId before, Seconds launch,
                 const StepOffsets& offsets = {});

/// All of so many ranks from `first` on, for append_barrier.
[[nodiscard]] collectives::Communicator all_ranks(topologies::RankId first, std::int32_t count);
/// Adds an operation of all ranks of a communicator, which takes no more than this time.
ProgramOpId append_barrier(Program& all, CommunicatorId everyone, Seconds time, Predecessors after);

/// The operations that the end of a step waits for, where its first operation has the number `first`.
[[nodiscard]] Predecessors ends_of(const StepBorders& borders, ProgramOpId first);

}  // namespace lockstep::program
