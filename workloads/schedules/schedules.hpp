#pragma once
/// The published pipeline schedules by name.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/schedules/pipeline_order.hpp"
#include "workloads/schedules/pipeline_timing.hpp"

namespace lockstep {

/// Activations of one microbatch on one chunk: what its forward adds, and what the input gradient and the
/// weight gradient let go of, in any unit; the two gradients together let go of all.
struct ActivationModel {
  double forward = 2;
  double input_gradient = -1;
  double weight_gradient = -1;
};

struct ScheduleRequest {
  std::string name;
  std::int32_t ranks = 1;          ///< P: ranks of the pipeline
  std::int32_t microbatches = 1;   ///< M
  std::optional<std::int32_t> chunks;   ///< V, stages per rank; none: the schedule's own
  std::optional<std::int32_t> group;    ///< Schedule::takes_group: microbatches in a row on one chunk (N); none: group_of
  /// Automatic schedules: most activations a rank may hold, in forwards of one microbatch through all its
  /// chunks; one for all ranks or one per rank. Empty: the schedule's own.
  std::vector<double> memory_limit;
  ActivationModel activations;     ///< automatic schedules
  PipelineTimes times;             ///< automatic schedules choose their order by them
};

/// Why a schedule cannot be had; about, what and expected as in ScheduleError.
struct ScheduleProblem {
  std::string about, what, expected;
};

/// A schedule, and all that is to be known of it: who asks what it can do asks here.
struct Schedule {
  std::string_view name;
  std::string_view summary;        ///< one line for --help and lists
  StagePlacement placement;
  std::int32_t usual_chunks;       ///< V when the user names none
  bool splits_backward;
  bool overlaps;                   ///< has forward-backward pairs
  bool chooses_by_time;            ///< looks at ScheduleRequest::times and takes limits of memory
  bool takes_group;                ///< looks at ScheduleRequest::group
  /// Of a request of the right sizes and options (see why_not): what P, M, V and N the schedule itself does not take;
  /// null: it takes all.
  std::optional<ScheduleProblem> (*own_rule)(const ScheduleRequest&);
  PipelineOrder (*order)(const ScheduleRequest&);  ///< of a request that why_not has nothing against

  [[nodiscard]] bool takes_chunks() const { return usual_chunks > 1 && placement != StagePlacement::v; }  ///< V is free
  /// What stands against the request: a size out of range, an option that the schedule does not have, the schedule's own
  /// rule of P, M, V and N. Nothing: make_order makes it, but for limits of memory and the times of stages that are given.
  [[nodiscard]] std::optional<ScheduleProblem> why_not(const ScheduleRequest& request) const;
  /// The same of sizes alone: P, M, V and N.
  [[nodiscard]] std::optional<ScheduleProblem> why_not(std::int32_t ranks, std::int64_t microbatches, std::int32_t chunks,
                                                       std::optional<std::int32_t> group = std::nullopt) const;
};

/// Microbatches in a row on one chunk (N): as the request says, else by PyTorch's rule, M / rounds with rounds = max(1,
/// M / P rounded down), which is P wherever P divides M.
[[nodiscard]] std::int32_t group_of(const ScheduleRequest& request);

/// Every schedule that make_order knows, simplest first.
[[nodiscard]] std::span<const Schedule> schedules();
/// Null if there is no such schedule.
[[nodiscard]] const Schedule* find_schedule(std::string_view name);
/// The request with the schedule's usual chunks where none are given. Throws ScheduleError for what stands against it: all
/// that can be told before stages and their times are known.
[[nodiscard]] ScheduleRequest completed(const ScheduleRequest& request);
/// Throws ScheduleError, naming the rule that the request breaks. Absurd sizes are refused before memory is spent.
[[nodiscard]] PipelineOrder make_order(const ScheduleRequest& request);

}  // namespace lockstep
