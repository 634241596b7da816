#pragma once
/// Looks for a date of a simulated step at which the state of the machine is what it was some periods of the order
/// before. That it is the same is checked on the timeline, operation by operation; where it never is, the whole step
/// has to be simulated.
#include <optional>

#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"
#include "sim/timing/steady_periods.hpp"
#include "workloads/step/step_graph.hpp"

namespace lockstep::timing {

/// The period of a simulated step, if the state of the machine is the same again after it; `copies` is left for the
/// caller to fill in. `program` and `timeline` are of `step`, folded or not. `rounding` is the part of the step's time
/// by which dates of the engine may be off.
[[nodiscard]] std::optional<timeline::Repetition> find_repetition(const workloads::StepGraph& step,
                                                                  const workloads::PipelineOrder& order,
                                                                  const SteadyPeriods& periods,
                                                                  const program::Program& program,
                                                                  const timeline::Timeline& timeline, double rounding);

}  // namespace lockstep::timing
