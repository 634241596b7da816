#pragma once
/// StepGraph on a mesh -> Program: durations for compute, phases of flows for collectives, streams.
#include "sim/program/program.hpp"
#include "sim/program/time_model.hpp"
#include "topologies/cluster.hpp"
#include "topologies/mesh.hpp"
#include "workloads/step_graph.hpp"

namespace lockstep {

/// One compute stream, in program order, and one communication stream per mesh axis; a collective over several axes
/// occupies all of theirs. Activations go before weight prefetch before gradients.
[[nodiscard]] Program lower(const StepGraph& step, const Cluster& cluster, const Mesh& mesh, const ComputeRates& rates);
/// The program of one rank alone, collectives as closed forms: without contention all ranks of a step do
/// the same, so the reference engine needs no more. For estimates and checks.
[[nodiscard]] Program lower_one_rank(const StepGraph& step, const Mesh& mesh, const ComputeRates& rates);

}  // namespace lockstep
