#pragma once
/// Lower bounds of a plan's step time and memory: nothing that a search may do below them is lost by pruning.
///
/// Time. A pass takes at least its longest path (pass_floor.hpp). A rank of the pipeline starts when the first microbatch can
/// have come through the stages before it, runs all its passes one after the other on its compute stream, and after its last
/// backward the stages before it still have theirs: fill + work + drain, on the worst rank. Gradients of the last
/// microbatch are reduced one after the other; after the barrier updated weights are published likewise. Every
/// communication stream is busy for the sum of what runs on it.
/// Memory. Weights and optimizer state, what is kept of the microbatches that the schedule has in flight, and the gradients
/// accumulated by then.
#include <cstdint>
#include <span>
#include <vector>

#include "sim/planning/group_prices.hpp"
#include "sim/planning/pass_floor.hpp"
#include "sim/planning/plan_space.hpp"
#include "workloads/schedules/schedules.hpp"

namespace lockstep {

struct Floor {
  double seconds = 0;
  std::int64_t bytes = 0;  ///< on the fullest rank
};

class PlanFloors {
 public:
  /// `routes`: none leaves transfers between stages without time.
  PlanFloors(const PlanSpace& space, const PlanSketch& sketch, std::span<const double> prices, double norm_over_stages, const StageRoutes* routes);

  /// Under one schedule. `in_detail`: memory by the schedule's order, not only by one microbatch in flight.
  [[nodiscard]] Floor of(std::int32_t pipeline, std::int64_t microbatches, const ScheduleChoice& choice, bool in_detail);
  /// Under any schedule.
  [[nodiscard]] Floor of(std::int32_t pipeline, std::int64_t microbatches);

 private:
  struct Kind {
    PassPath forward, backward, input_gradient, weight_gradient;
    std::array<double, plan_axes.size()> each{}, once{}, published{};  ///< busy time of streams: every microbatch, once, after the barrier
    double reduced = 0;                                                ///< gradients of one block after the last microbatch
  };
  /// Blocks that stand together.
  struct Part {
    PassPath forward, backward, input_gradient, weight_gradient;
    double forward_compute = 0, backward_compute = 0;
    std::array<double, plan_axes.size()> each{}, once{}, published{};
    double update = 0;
    std::int64_t held = 0, kept = 0, gradients = 0, sent = 0;
    int first = 0, last = 0;  ///< blocks; one past
  };
  [[nodiscard]] const std::vector<Part>& parts(std::int32_t count);
  [[nodiscard]] double send(std::int32_t from, std::int32_t to, std::int64_t bytes) const;
  /// When a rank whose passes end at `end` has reduced the gradients of its last microbatch.
  [[nodiscard]] double reduced(const Part& part, double end, bool split) const;

  const PlanSpace& space_;
  const PlanSketch& sketch_;
  const StageRoutes* routes_;
  double norm_over_stages_;
  std::vector<Kind> kinds_;
  std::map<std::int32_t, std::vector<Part>> parts_;  ///< by how many
};

}  // namespace lockstep
