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
  std::optional<std::int32_t> group;    ///< interleaved: microbatches in a row on one chunk (N); none: P
  /// Automatic schedules: most activations a rank may hold, in forwards of one microbatch through all its
  /// chunks; one for all ranks or one per rank. Empty: the schedule's own.
  std::vector<double> memory_limit;
  ActivationModel activations;     ///< automatic schedules
  PipelineTimes times;             ///< automatic schedules choose their order by them
};

struct Schedule {
  std::string_view name;
  std::string_view summary;        ///< one line for --help and lists
  StagePlacement placement;
  std::int32_t usual_chunks;       ///< V when the user names none
  bool splits_backward;
  bool overlaps;                   ///< has forward-backward pairs
  bool chooses_by_time;            ///< looks at ScheduleRequest::times (and limits)
  PipelineOrder (*order)(const ScheduleRequest&);
};

/// Every schedule that make_order knows, simplest first.
[[nodiscard]] std::span<const Schedule> schedules();
/// Null if there is no such schedule.
[[nodiscard]] const Schedule* find_schedule(std::string_view name);
/// The request with the schedule's usual chunks where none are given. Throws ScheduleError for options that the schedule
/// does not have and sizes out of range: what can be told before stages and their times are known.
[[nodiscard]] ScheduleRequest completed(const ScheduleRequest& request);
/// Throws ScheduleError, naming the rule that P, M, V or the limit breaks. Absurd sizes are refused before memory is spent.
[[nodiscard]] PipelineOrder make_order(const ScheduleRequest& request);

}  // namespace lockstep
