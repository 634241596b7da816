#pragma once
/// When the cells of a pipeline order run, for given times per action and latency between ranks.
///
/// A cell starts when its rank is free and its inputs have arrived. An input from another rank arrives `latency` after
/// the cell that made it has ended; transfers occupy no rank. F(s) needs F(s-1); B and I(s) need F(s) and, below the
/// last stage, B or I(s+1); W(s) needs I(s). A pair starts when the inputs of both halves are there and ends both.
/// What slices of one microbatch need of each other is on their own rank, whose order has it earlier.
#include <optional>
#include <string>
#include <vector>

#include "workloads/pipeline/pipeline_order.hpp"

namespace lockstep::workloads {

/// Times of one microbatch on one stage, in any unit of time, the same for all. backward = input + weight gradient.
struct StageTimes {
  double forward = 1;
  double input_gradient = 1;
  double weight_gradient = 1;
};

struct PipelineTimes {
  Indexed<VirtualStageId, StageTimes> stages{StageTimes{}};  ///< one for all stages, or one per stage
  double latency = 0;                                        ///< on every edge between two ranks
  std::optional<double> pair;  ///< time of an overlapped pair; none: the time of its halves one after the other
  /// The share of the times above that each slice of a microbatch takes; one for all slices, or one per slice.
  Indexed<SliceId, double> slices{1.0};

  [[nodiscard]] const StageTimes& of(VirtualStageId stage) const { return stages[stages.size() == 1 ? 0 : stage]; }
  [[nodiscard]] double share_of(MicrobatchId slice) const { return slices[slice % slices.count()]; }
  [[nodiscard]] double of(const PipelineAction& action) const;
  [[nodiscard]] double of(const PipelineCell& cell) const;
};

struct CellSpan {
  double start = 0;
  double end = 0;
};

/// Two definitions of a bubble, both as time: of the step, makespan - busy; of the span, the rank's last end -
/// first start - busy (an optimizer that needs no barrier lets ranks begin their next step at once).
struct PipelineTiming {
  Indexed<StageId, Indexed<CellId, CellSpan>> spans;  ///< as PipelineOrder::ranks
  double makespan = 0;
  Indexed<StageId, double> busy;
  Indexed<StageId, double> bubble_step;
  Indexed<StageId, double> bubble_span;
  /// Cells (rank, index) by start, a topological order of the whole pipeline.
  std::vector<std::pair<StageId, CellId>> by_start;
};

/// Throws ScheduleError if the order never comes to its end (verify_order says why).
[[nodiscard]] PipelineTiming time_order(const PipelineOrder& order, const PipelineTimes& times);

/// Shares of slices that all take the same time.
[[nodiscard]] inline Indexed<SliceId, double> even_slices(std::int32_t slices) {
  return Indexed<SliceId, double>(position_of(slices), 1.0 / slices);
}

/// Most microbatches (or slices of them) whose activations a rank holds at once, in chunks: from the forward to the end
/// of the input gradient, or to the end of the weight gradient. A pair holds the new activations together with the old
/// ones.
struct HeldActivations {
  Indexed<StageId, std::int32_t> until_input_gradient;
  Indexed<StageId, std::int32_t> until_weight_gradient;
};
[[nodiscard]] HeldActivations held_activations(const PipelineOrder& order);

}  // namespace lockstep::workloads
