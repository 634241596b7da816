#include "workloads/schedules/dualpipe_steps.hpp"
#include "workloads/schedules/v_shape.hpp"

namespace lockstep {

std::optional<ScheduleProblem> dualpipe_v_rule(const ScheduleRequest& request) {
  if (request.microbatches >= 2 * request.ranks) return {};
  return ScheduleProblem{"microbatches", "dualpipe-v with " + std::to_string(request.microbatches) + " microbatches on " + std::to_string(request.ranks) + " ranks",
                         "at least as many microbatches as stages, 2P = " + std::to_string(2 * request.ranks)};
}

PipelineOrder dualpipe_v_order(const ScheduleRequest& request) {
  auto order = empty_v_order(request);
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    order.ranks[static_cast<std::size_t>(rank)] =
        dualpipe_cells(request.ranks, rank, request.microbatches,
                       {{{v_stage(order.shape, rank, 0), 0}, {v_stage(order.shape, rank, 1), 0}}});
  }
  return order;
}

}  // namespace lockstep
