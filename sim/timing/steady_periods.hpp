#pragma once
/// Folding in time. In the middle of a pipeline's order every rank repeats the same cells for microbatch after
/// microbatch. Once the machine's state repeats too, one period later and for one microbatch more, so does all that
/// follows, since what happens next depends on the state alone: a step of M microbatches then takes as long as one of
/// fewer, and a period more for each that is missing (find_repetition.hpp). Here are the periods of the order.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/pipeline/pipeline_order.hpp"

namespace lockstep::timing {

/// The part in which each rank of an order repeats: cell i between `first` and `last` (one past) does the same as cell
/// i - `cells`, for a microbatch `microbatches` later.
struct SteadyPeriods {
  struct Rank {
    std::size_t first = 0, last = 0, cells = 0;
    [[nodiscard]] std::size_t periods() const { return (last - first) / cells; }
    /// In which a pipeline comes to its rhythm, as a rule.
    [[nodiscard]] std::size_t cells_to_settle() const { return std::max<std::size_t>(8, cells / 4); }
  };
  std::int32_t microbatches = 1;  ///< of a period; of a pipeline that is entered at both ends, from each end
  std::vector<Rank> ranks;
  [[nodiscard]] std::size_t periods() const;  ///< that every rank has
  /// The fewest with which a step may show that it repeats: a period, one more like it, and what it takes to settle.
  [[nodiscard]] std::size_t fewest_to_repeat() const;
};

/// Nothing if some rank does not repeat.
[[nodiscard]] std::optional<SteadyPeriods> steady_periods(const workloads::PipelineOrder& order);

/// The order with so many periods fewer on every rank. Changes `periods` into those of the new order.
[[nodiscard]] workloads::PipelineOrder without_periods(const workloads::PipelineOrder& order, std::size_t fewer,
                                                       SteadyPeriods& periods);

}  // namespace lockstep::timing
