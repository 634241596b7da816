#pragma once
/// What pictures and the page call an operation of a step.
#include <string>

#include "workloads/step/step_graph.hpp"

namespace lockstep::output {

/// The mesh axes of a communication, "fsdp+tensor"; of a replayed one its stream, of compute "".
[[nodiscard]] std::string axes_text(const workloads::StepOp& op);
/// The name whose colour the operation has: its axes, or the pass that it computes in.
[[nodiscard]] std::string coloured_as(const workloads::StepOp& op);

}  // namespace lockstep::output
