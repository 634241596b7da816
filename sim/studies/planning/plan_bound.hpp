#pragma once
/// Lower bounds of a plan's step time and memory; pruning by them never loses the best plan.
///
/// Time: a pass takes at least its longest path (pass_bound.hpp). A rank of the pipeline starts when the first
/// microbatch can have come through the stages before it, runs all its passes one after the other on its compute
/// stream, and after its last backward the stages before it still run theirs: fill + work + drain, on the worst rank.
/// Gradients of the last microbatch are reduced one after the other; after the barrier updated weights are published
/// likewise. Every communication stream is busy for the sum of what runs on it. Where collectives slow down the compute
/// beside them to 1/s of its speed, a rank that computes for C seconds alone in a span of T in which a stream is busy
/// for B gets (T - B) + B/s of compute done, so that T is at least C + B (1 - 1/s). If these bounds do not prune a
/// plan, the longest path through all actions of the schedule is used, with each rank's actions one after the other.
/// Memory: the sum of weights, optimizer state, everything kept of the microbatches that the schedule has in flight,
/// and the gradients accumulated by then.
#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/studies/planning/action_sequence.hpp"
#include "sim/studies/planning/group_costs.hpp"
#include "sim/studies/planning/plan_space.hpp"
#include "sim/studies/planning/plan_summary.hpp"
#include "sim/studies/planning/timed_blocks.hpp"

namespace lockstep::planning {

struct LowerBound {
  double seconds = 0;
  std::int64_t bytes = 0;  ///< on the fullest rank
};

/// The input of a plan's bounds. Plans with equal parts have equal bounds.
struct PlanParts {
  const PassesSummary& summary;
  const TimedPasses& passes;  ///< of the summary
  const TimedState& state;
  double norm_over_stages = 0;          ///< seconds of the sum of gradient norms over the stages
  const StagesAlong* stages = nullptr;  ///< null leaves transfers between stages without time
};

class PlanBounds {
 public:
  PlanBounds(const PlanSpace& space, const PlanParts& plan) : space_(space), plan_(plan) {}

  /// The bound under one schedule, with one microbatch in flight. All schedules of a form have the same bound.
  [[nodiscard]] LowerBound of(std::int32_t pipeline, std::int64_t microbatches, const ScheduleChoice& choice);
  /// The bound under any schedule: the least over all forms.
  [[nodiscard]] LowerBound of(std::int32_t pipeline, std::int64_t microbatches);
  /// The bound from the longest path through the actions of a schedule, and from the memory that they hold.
  [[nodiscard]] LowerBound in_order(const ActionSequence& sequence, const ScheduleChoice& choice);

 private:
  /// What a pass computes on the compute stream, alone, and for how long its collectives run.
  struct PassLoad {
    double compute = 0;
    PassStreams streams;
    [[nodiscard]] PassLoad then(const PassLoad& next) const {
      return {compute + next.compute, streams.then(next.streams)};
    }
  };
  /// The blocks of one virtual stage, taken together.
  struct VirtualStage {
    PassPath forward, backward, input_gradient, weight_gradient;
    PassLoad forward_load, backward_load, input_gradient_load, weight_gradient_load;
    BusyStreams each{}, reduced_each{}, once{}, published{};
    double update = 0;
    std::int64_t held = 0, kept = 0, gradients = 0, sent = 0;
    std::int64_t kept_for_weights = 0;  ///< of what is kept, and what input gradients add to it
    std::int64_t forward_most = 0, backward_most = 0, input_gradient_most = 0;  ///< over what is held when they begin
    VirtualStageBlocks::Blocks blocks;
  };
  /// The virtual stages of a model; those that are alike are stored once.
  struct VirtualStages {
    const VirtualStageBlocks* places;
    std::vector<VirtualStage> different;
    [[nodiscard]] const VirtualStage& of(std::int32_t stage) const {
      return different[position_of(places->which[position_of(stage)])];
    }
    [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(places->which.size()); }
  };
  [[nodiscard]] const VirtualStages& virtual_stages(std::int32_t count);
  [[nodiscard]] VirtualStage virtual_stage_of(const VirtualStageBlocks::Blocks& blocks) const;
  /// For how long the passes and reductions of one microbatch occupy the streams, as far as they start after its input
  /// has arrived and end before the optimizer's barrier.
  [[nodiscard]] static BusyStreams until_barrier(const VirtualStage& stage, bool split);
  /// The least time of a span in which so much is computed alone and the streams are so busy.
  [[nodiscard]] double span(double compute, const BusyStreams& busy) const {
    return compute + space_.lost_beside_collectives() * *std::max_element(busy.begin(), busy.end());
  }
  /// Computes the time from the start of the step to the first microbatch's input on each virtual stage, and from each
  /// one's last backward to the end.
  void fill_and_drain(const VirtualStages& stages, const workloads::Schedule& schedule,
                      const workloads::PipelineShape& shape);
  [[nodiscard]] double send(std::int32_t from, std::int32_t to, std::int64_t bytes);
  /// When a rank whose passes end at `end` has reduced the gradients of its last microbatch.
  [[nodiscard]] double reduced(const VirtualStage& stage, double end, bool split) const;
  /// From the barrier until a rank has updated its weights and published them.
  [[nodiscard]] double published(const std::vector<std::int32_t>& own, const VirtualStages& stages) const;
  [[nodiscard]] std::size_t kind(int block) const {
    return static_cast<std::size_t>(space_.kinds()[position_of(block)]);
  }
  class InOrder;

  const PlanSpace& space_;
  PlanParts plan_;
  std::map<std::int32_t, VirtualStages> virtual_stages_;  ///< by how many
  const StagesAlong::Times* sends_ = nullptr;             ///< of as many bytes as were sent last
  std::int64_t sent_bytes_ = -1;
  Indexed<std::int32_t, double> arrival_, drain_;  ///< by virtual stage
};

}  // namespace lockstep::planning
