#pragma once
/// Inner steps one after another and an outer step beside them, on the same ranks and links, as one program.
#include <cstdint>
#include <vector>

#include "sim/program/program.hpp"

namespace lockstep::program {

struct StepsBeside {
  Program program;
  Indexed<ProgramOpId, ProgramOpId> outer;  ///< the number of each operation of the outer step
  ProgramOpId last_end = -1;                ///< an operation of no time: it ends with the last rank of the last step
};

/// `times` >= 1 steps, each of which begins when the last rank has ended the one before; `alone`: what one of them
/// takes without the outer step, by which hosts launch its kernels. The outer step's operations before `first_after`
/// begin with the first of these steps and come first on streams that both use; the others wait for the last of them.
/// Both are programs of the same ranks and links.
[[nodiscard]] StepsBeside steps_beside(const Program& step, std::int32_t times, Seconds alone, const Program& outer,
                                       ProgramOpId first_after);

}  // namespace lockstep::program
