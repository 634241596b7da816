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

struct Tolerance {
  double rounding;              ///< the part of the step's time by which dates of the engine may be off
  std::size_t missing_periods;  ///< of the order, which are not simulated
  /// The part of the whole step's time by which it may change since the state is only nearly the same. Where kernels
  /// and collectives slow each other down, the state comes closer to itself by a factor of 10 or so in each period, but
  /// never all the way.
  double change_allowed = 0;
};

struct RepetitionSearch {
  std::optional<timeline::Repetition> found;  ///< `copies` is left for the caller to fill in
  /// Where none is found: how far the state is from what it was a period before, over how far that was from the state
  /// of the period before it. 1 if the step is too short to tell.
  double shrinking = 1;
};

/// The period of a simulated step, if the state of the machine is the same again after it. `program` and `timeline` are
/// of `step`, folded or not.
[[nodiscard]] RepetitionSearch find_repetition(const workloads::StepGraph& step, const workloads::PipelineOrder& order,
                                               const SteadyPeriods& periods, const program::Program& program,
                                               const timeline::Timeline& timeline, const Tolerance& tolerance);

}  // namespace lockstep::timing
