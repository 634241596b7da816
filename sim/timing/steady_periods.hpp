#pragma once
/// Folding in time. In the middle of a pipeline's order every rank repeats the same cells for microbatch after
/// microbatch. Once the machine's state repeats too, one period later and for one microbatch more, so does all that
/// follows, since what happens next depends on the state alone: a step of M microbatches then takes as long as one of
/// fewer, and a period more for each that is missing. That the state repeats is checked on the timeline, operation by
/// operation; where it does not, the whole step is simulated.
#include <optional>
#include <vector>

#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"
#include "workloads/step/step_graph.hpp"

namespace lockstep::timing {

/// The part in which each rank of an order repeats: cell i between `first` and `last` (one past) does the same as cell
/// i - `cells`, for a microbatch `microbatches` later.
struct SteadyPeriods {
  struct Rank {
    std::size_t first = 0, last = 0, cells = 0;
    [[nodiscard]] std::size_t periods() const { return (last - first) / cells; }
  };
  std::int32_t microbatches = 1;  ///< of a period; of a pipeline that is entered at both ends, from each end
  std::vector<Rank> ranks;
  [[nodiscard]] std::size_t periods() const;  ///< that every rank has
};

/// Nothing if some rank does not repeat.
[[nodiscard]] std::optional<SteadyPeriods> steady_periods(const workloads::PipelineOrder& order);

/// The order with so many periods fewer on every rank. Changes `periods` into those of the new order.
[[nodiscard]] workloads::PipelineOrder without_periods(const workloads::PipelineOrder& order, std::size_t fewer,
                                                       SteadyPeriods& periods);

/// The period of a simulated step, if the state of the machine is the same again after it; `copies` is left for the
/// caller to fill in. `program` and `timeline` are of `step`, folded or not. `rounding` is the part of the step's time
/// by which dates of the engine may be off.
[[nodiscard]] std::optional<timeline::Repetition> find_repetition(const workloads::StepGraph& step,
                                                                  const workloads::PipelineOrder& order,
                                                                  const SteadyPeriods& periods,
                                                                  const program::Program& program,
                                                                  const timeline::Timeline& timeline, double rounding);

}  // namespace lockstep::timing
