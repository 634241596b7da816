#pragma once
/// What kernels of calibrated time share: the chip, with collectives that run beside them, and the host, which launches
/// them.
#include "sim/program/program.hpp"
#include "topologies/chips/chip_kernels.hpp"
#include "workloads/step/step_graph.hpp"

namespace lockstep {

/// How much longer compute takes while collectives run on the same chip: the more of the multiprocessors or of memory
/// that they take.
[[nodiscard]] double overlap_slowdown(const ChipKernels& chip);

/// Says which operations of a lowered program share their chip, and when the host has launched each kernel: it launches
/// a rank's kernels in program order from the step's start on, each in the time that the chip's parameters say, and
/// waits for none of them.
void share_chip(Program& program, const StepGraph& step, const ChipKernels& chip);

}  // namespace lockstep
