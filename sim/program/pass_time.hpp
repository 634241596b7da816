#pragma once
/// What the kernels of a pass do to each other, where their times are calibrated: one forward or backward of a microbatch
/// on a stage.
#include "sim/program/program.hpp"
#include "topologies/chip_kernels.hpp"
#include "workloads/step_graph.hpp"

namespace lockstep {

/// How much longer compute takes while collectives run on the same chip: the more of the multiprocessors or of memory
/// that they take.
[[nodiscard]] double overlap_slowdown(const ChipKernels& chip);

/// Kernels of together c seconds, beside collectives of h seconds that they do not wait for (weights gathered ahead,
/// gradients, activations beside the product that they belong to), take max(count host, min(s c, c + h (1 - 1/s))): the host launches them one after the other, and s is
/// overlap_slowdown. All kernels of the pass are stretched alike, so ranks of a stage stay alike too.
void stretch_passes(Program& program, const StepGraph& step, const ChipKernels& chip);

}  // namespace lockstep
