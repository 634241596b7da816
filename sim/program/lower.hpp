#pragma once
/// StepGraph on the mesh of a CollectiveModel -> Program: durations for compute, phases of flows for collectives,
/// streams.
#include "sim/collectives/collective_model.hpp"
#include "sim/cost/time_model.hpp"
#include "sim/program/program.hpp"
#include "workloads/step/step_graph.hpp"

namespace lockstep::program {

struct LowerOptions {
  bool sends_in_order = false;  ///< one queue for everything that a rank sends and receives between stages, in the
                                ///< order of its program, head of line first
};

/// A rank has one compute stream in program order (the halves of an overlapped pair each in its own order), one
/// communication stream per mesh axis, and one for sends per pair of stages and direction. A collective over several
/// axes occupies the streams of all of them. Activations go first; weights and gradients go in the order in which they
/// are issued.
[[nodiscard]] Program lower(const workloads::StepGraph& step, collectives::CollectiveModel& collectives,
                            const cost::ComputeRates& rates, const LowerOptions& options = {});
/// The program of one rank of each stage, with collectives as closed forms, for estimates and checks. Without
/// contention all ranks of a stage do the same, so the reference engine needs no other ranks.
[[nodiscard]] Program lower_one_rank_per_stage(const workloads::StepGraph& step,
                                               collectives::CollectiveModel& collectives,
                                               const cost::ComputeRates& rates, const LowerOptions& options = {});

/// All that an operation of a lowered step waits for: its inputs, also those that its stream has waited for before and
/// that its predecessors therefore leave out, and then what it follows in the program.
[[nodiscard]] Predecessors all_predecessors(const workloads::StepGraph& step, const ProgramOp& op);

}  // namespace lockstep::program
