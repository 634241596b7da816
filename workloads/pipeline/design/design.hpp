#pragma once
/// A pipeline order made for given times, memory limits and transfers, with a proof of how far from the best it is.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::workloads {

/// How long to search. Counted, not timed, so that equal input gives equal output on any machine, unless it is stopped.
struct DesignEffort {
  std::int64_t letters = 400'000'000;              ///< works timed by the local search, about 10 ns each
  std::int64_t nodes = 200'000;                    ///< states of the branch and bound, some microseconds each
  const std::function<bool()>* stopped = nullptr;  ///< null, or asked now and then; true ends the search with its best
  const std::function<void(std::string_view stage, double fraction)>* progress = nullptr;  ///< may be null
  [[nodiscard]] bool is_stopped() const { return stopped != nullptr && (*stopped)(); }
  void tell(std::string_view stage, double fraction) const {
    if (progress != nullptr) (*progress)(stage, fraction);
  }
};

/// An order that was not designed, under the same limits.
struct PublishedOrder {
  std::string name;
  PipelineOrder order;
  double makespan = 0;  ///< with its backwards whole where it has them so, as lockstep schedule times it by itself
};

struct Design {
  PipelineOrder order;
  double makespan = 0;
  double lower_bound = 0;      ///< no order on any allowed placement under the limits has a shorter makespan
  std::string bounded_by;      ///< what the bound is: the work of a rank, the way of a microbatch, all orders
  std::vector<double> limits;  ///< of each rank, in microbatches through all its chunks
  std::vector<PublishedOrder> published;  ///< those that fit, on every allowed placement, the shortest first
  bool stopped = false;                   ///< before the search was over
  [[nodiscard]] double gap() const { return lower_bound > 0 ? makespan / lower_bound - 1 : 0; }
};

/// The best order found for a request in which why_not finds no problem. Throws ScheduleError if no order exists under
/// its limits.
[[nodiscard]] Design design_pipeline(const ScheduleRequest& request, const DesignEffort& effort = {});

/// The same design where one rank, or every rank, holds more.
struct MoreMemory {
  StageId rank = -1;  ///< -1: every rank
  double limit = 0;   ///< in microbatches; of every rank: the first one's
  double makespan = 0;
  double lower_bound = 0;  ///< of orders on the design's placement
};

/// For a tenth more on each rank by itself that has less than it could use, and on all of them; at least as much as one
/// more input gradient takes. The shortest makespan first. `effort` says what stops it, with the ranks tried by then.
[[nodiscard]] std::vector<MoreMemory> with_more_memory(const ScheduleRequest& request, const Design& design,
                                                       const DesignEffort& effort = {});

/// The same design where the ranks with the most work do it faster.
struct LessWork {
  std::vector<StageId> ranks;  ///< those with the most work; all of them where they have the same
  double makespan = 0;
  double lower_bound = 0;  ///< as above
};

/// For times that are a tenth less on these ranks. None if it is stopped, and none with overlapped pairs, whose time
/// does not follow from that of their halves.
[[nodiscard]] std::optional<LessWork> with_less_work(const ScheduleRequest& request, const Design& design,
                                                     const DesignEffort& effort = {});

}  // namespace lockstep::workloads
