#pragma once
/// The key `own_steps` of a chip's kernels: to how many whole steps on this very machine `sustained` and `host` were
/// fitted. Bands of steps are narrower for it.
#include "topologies/chips/chip_kernels.hpp"

namespace lockstep::topologies {

/// 0: to none. The number stands among the kernels' sources, which say where their values come from.
[[nodiscard]] int own_steps(const ChipKernels& kernels);
void set_own_steps(ChipKernels& kernels, int steps);

}  // namespace lockstep::topologies
