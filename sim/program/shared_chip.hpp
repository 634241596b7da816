#pragma once
/// Resources that kernels of calibrated time share: the chip, with collectives that run beside them, and the host,
/// which launches them.
#include "sim/program/program.hpp"
#include "topologies/chips/chip_kernels.hpp"
#include "workloads/step/step_graph.hpp"

namespace lockstep::program {

/// The factor by which compute takes longer beside a dispatcher's transfers that hold so many multiprocessors: what
/// they hold is missing, and no more.
[[nodiscard]] double dispatch_slowdown(const topologies::ChipKernels& chip, std::int32_t multiprocessors);

/// Marks the operations of a lowered program that share their chip, and sets when the host has launched each kernel.
/// The host launches a rank's kernels in program order from the step's start on, each in the time that the chip's
/// parameters give, and waits for none of them; or, where the step's hosts wait for transfers between stages, it starts
/// anew with the first kernel of each cell of the pipeline, once what that kernel waits for is there.
void share_chip(Program& program, const workloads::StepGraph& step, const topologies::ChipKernels& chip);

}  // namespace lockstep::program
