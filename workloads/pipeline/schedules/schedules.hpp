#pragma once
/// The published pipeline schedules by name.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/pipeline/pipeline_order.hpp"
#include "workloads/pipeline/pipeline_timing.hpp"

namespace lockstep::workloads {

/// Activations of one microbatch on one chunk, in any unit: the amount that its forward adds, and the amounts that the
/// input gradient and the weight gradient free; the two gradients together free all.
struct ActivationModel {
  double forward = 2;
  double input_gradient = -1;
  double weight_gradient = -1;
};

struct ScheduleRequest {
  std::string name;
  std::int32_t ranks = 1;              ///< P: ranks of the pipeline
  std::int32_t microbatches = 1;       ///< M
  std::optional<std::int32_t> chunks;  ///< V, stages per rank; none: the schedule's own
  std::optional<std::int32_t> group;  ///< Schedule::takes_group: microbatches in a row on one chunk (N); none: group_of
  std::int32_t slices = 1;            ///< n, slices of a microbatch's sequence; more than one if Schedule::takes_slices
  /// Automatic schedules: most activations a rank may hold, in forwards of one microbatch through all its
  /// chunks; one for all ranks or one per rank. Empty: the schedule's own.
  std::vector<double> memory_limit;
  ActivationModel activations;             ///< automatic schedules
  std::vector<StagePlacement> placements;  ///< Schedule::designs: where stages may stand; empty: placement_for(chunks)
  PipelineTimes times;                     ///< automatic schedules choose their order by them
};

/// The reason why a schedule cannot be made; about, what and expected as in ScheduleError.
struct ScheduleProblem {
  std::string about, what, expected;
};

struct ClosedForm;
struct FormLetters;

/// A schedule with its name, limits and rules, for commands, the loader and `plan`. Each schedule is defined in a file
/// of its own.
struct Schedule {
  std::string_view name;
  std::string_view summary;  ///< one line for --help and lists
  StagePlacement placement = StagePlacement::linear;
  std::int32_t usual_chunks = 1;  ///< V if the user gives none
  bool splits_backward = false;
  bool overlaps = false;          ///< has forward-backward pairs
  bool chooses_by_time = false;   ///< looks at ScheduleRequest::times and takes limits of memory
  bool designs = false;           ///< seeks the best order, on any placement and number of chunks (design/design.hpp)
  bool takes_group = false;       ///< looks at ScheduleRequest::group
  bool takes_slices = false;      ///< passes are slices of microbatches; looks at ScheduleRequest::slices
  bool shares_attention = false;  ///< of slices: ranks take over attention of each other's, so that all take as long
  /// The problem of a request with valid sizes and options (see why_not) whose P, M, V and N the schedule itself does
  /// not take; null: it takes all.
  std::optional<ScheduleProblem> (*own_rule)(const ScheduleRequest&) = nullptr;
  PipelineOrder (*order)(const ScheduleRequest&) = nullptr;  ///< of a request in which why_not finds no problem
  /// The literature's bubble and activations (closed_form.hpp); null: there is none.
  std::optional<ClosedForm> (*closed_form)(const FormLetters&) = nullptr;

  [[nodiscard]] bool takes_chunks() const {  ///< V is free
    return designs || (usual_chunks > 1 && placement != StagePlacement::v);
  }
  /// Where stages stand if a request does not say: of a design the V for two chunks and the loop for more.
  [[nodiscard]] StagePlacement placement_for(std::int32_t chunks) const {
    if (!designs || chunks == 1) return placement;
    return chunks == 2 ? StagePlacement::v : StagePlacement::loop;
  }
  /// The problem of the request: a size out of range, an option that the schedule does not have, or the schedule's own
  /// rule of P, M, V and N. If there is none, make_order succeeds, unless a memory limit or given times of stages
  /// prevent it.
  [[nodiscard]] std::optional<ScheduleProblem> why_not(const ScheduleRequest& request) const;
  /// The problem of a request that gives only sizes: P, M, V and N.
  [[nodiscard]] std::optional<ScheduleProblem> why_not(std::int32_t ranks, std::int64_t microbatches,
                                                       std::int32_t chunks,
                                                       std::optional<std::int32_t> group = std::nullopt) const;
};

/// Microbatches in a row on one chunk (N): as the request says, otherwise by PyTorch's rule, M / rounds with rounds =
/// max(1, M / P rounded down), which is P if P divides M.
[[nodiscard]] std::int32_t group_of(const ScheduleRequest& request);

/// Every schedule that make_order knows, simplest first.
[[nodiscard]] std::span<const std::reference_wrapper<const Schedule>> schedules();
/// Null if there is no such schedule.
[[nodiscard]] const Schedule* find_schedule(std::string_view name);
/// The request with the schedule's usual chunks if none are given. Throws ScheduleError for every problem
/// that can be found before stages and their times are known.
[[nodiscard]] ScheduleRequest completed(const ScheduleRequest& request);
/// Throws ScheduleError, naming the rule that the request breaks. Absurd sizes are refused before memory is spent.
[[nodiscard]] PipelineOrder make_order(const ScheduleRequest& request);

}  // namespace lockstep::workloads
