#pragma once
/// A pipeline with split backwards while an automatic schedule chooses its order: what every rank has run and when
/// it is free, what it holds, and which weight gradients it still owes.
#include <deque>
#include <vector>

#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::workloads {

/// Times closer than a billionth of the longest action count as equal: orders must not hang on rounding, nor on the
/// unit of the times.
class ComparedTimes {
 public:
  explicit ComparedTimes(const PipelineTimes& times);
  [[nodiscard]] bool less(double a, double b) const { return a < b - tolerance_; }
  [[nodiscard]] bool at_most(double a, double b) const { return !less(b, a); }

 private:
  double tolerance_ = 0;
};

/// Actions run microbatch after microbatch on every stage, so a stage and a kind of work say which comes next.
class SplitPipeline {
 public:
  /// `limits`: most activations per rank, as limits_in_activations gives them.
  SplitPipeline(const ScheduleRequest& request, PipelineOrder empty, const Indexed<StageId, double>& limits);

  void forward(std::int32_t stage);
  void input_gradient(std::int32_t stage);
  void weight_gradient(std::int32_t rank);  ///< the oldest that the rank owes

  [[nodiscard]] std::int32_t forwards(std::int32_t stage) const { return forwards_[stage].run; }
  [[nodiscard]] std::int32_t input_gradients(std::int32_t stage) const { return input_gradients_[stage].run; }
  [[nodiscard]] bool has_forward_input(std::int32_t stage) const;         ///< for its next forward, of the stage before
  [[nodiscard]] bool has_input_gradient_input(std::int32_t stage) const;  ///< of the stage after
  [[nodiscard]] double forward_arrival(std::int32_t stage) const;         ///< of that input, which must be there
  [[nodiscard]] double input_gradient_arrival(std::int32_t stage) const;

  [[nodiscard]] double now(std::int32_t rank) const { return ranks_[rank].now; }
  [[nodiscard]] double bubble(std::int32_t rank) const { return ranks_[rank].bubble; }
  [[nodiscard]] double longest_bubble() const { return longest_bubble_; }
  [[nodiscard]] double longest_span() const;

  [[nodiscard]] double held(std::int32_t rank) const { return ranks_[rank].held; }
  [[nodiscard]] double limit(std::int32_t rank) const { return ranks_[rank].limit; }
  /// Weight gradients owed, oldest first.
  [[nodiscard]] const std::deque<PipelineAction>& owed(std::int32_t rank) const { return ranks_[rank].owed; }
  /// Run weight gradients until another forward and its backward, or a backward alone, fit under the limit.
  void make_room_for_forward(std::int32_t rank);
  void make_room_for_backward(std::int32_t rank);
  /// Runs the weight gradients that end by `arrival`. Returns the time left to wait then; 0 or less if there is none.
  double fill_wait(std::int32_t rank, double arrival);
  void settle_owed(std::int32_t rank);

  [[nodiscard]] const ComparedTimes& compare() const { return compare_; }
  [[nodiscard]] PipelineOrder take_order() { return std::move(order_); }

 private:
  struct Rank {
    double first_start = 0, now = 0, bubble = 0, held = 0, limit = 0;
    std::deque<PipelineAction> owed;
  };
  struct Done {
    std::int32_t run = 0;
    Indexed<MicrobatchId, double> ends;
  };
  [[nodiscard]] std::int32_t rank_of(std::int32_t stage) const { return order_.shape.rank_of(stage, 0); }
  [[nodiscard]] double arrival(const Done& from, std::int32_t from_stage, std::int32_t stage, std::int32_t m) const;
  void make_room(std::int32_t rank, double activations);
  double run(const PipelineAction& action, double arrival, double activations);

  PipelineTimes times_;
  ActivationModel activations_;
  PipelineOrder order_;
  ComparedTimes compare_;
  Indexed<StageId, Rank> ranks_;
  Indexed<VirtualStageId, Done> forwards_, input_gradients_;
  double longest_bubble_ = 0;
};

/// ScheduleRequest::memory_limit per rank in the unit of ScheduleRequest::activations. `usual` and `least` are in
/// microbatches through all chunks of a rank; least without what a backward adds for its own time.
/// Throws ScheduleError if a limit is below the least, or if limits, times or activations make no sense.
[[nodiscard]] Indexed<StageId, double> limits_in_activations(const ScheduleRequest& request, std::int32_t chunks,
                                                             double usual, double least);

/// The most activations that a backward holds beyond its forward.
[[nodiscard]] double backward_reserve(const ActivationModel& activations);

}  // namespace lockstep::workloads
