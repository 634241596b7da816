#pragma once
#include "sim/cost/time_model.hpp"
#include "sim/program/program.hpp"
#include "topologies/placement/mesh.hpp"
#include "workloads/step/step_graph.hpp"

namespace lockstep::program {

/// By kind of chip.
using RatesOfChips = Indexed<topologies::ChipKindId, cost::ComputeRates>;

/// Gives each rank of a lowered program the kind of its chip, and each compute operation its times. Nothing changes
/// where the cluster has one kind.
void put_on_chips(Program& program, const workloads::StepGraph& step, const topologies::Mesh& mesh,
                  const topologies::Cluster& cluster, const RatesOfChips& rates);

/// Gives each compute operation its time on every kind of chip; its own is then the longest.
void set_times_on_chips(Program& program, const workloads::StepGraph& step, const RatesOfChips& rates);

}  // namespace lockstep::program
