#include "workloads/schedules/interleaving.hpp"
#include "workloads/schedules/schedules_private.hpp"

namespace lockstep {

PipelineOrder zb_h2_order(const ScheduleRequest& request) {
  auto order = empty_order(request, StagePlacement::linear, 1);
  const InterleavedPasses passes(order.shape, request.microbatches);
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    auto& cells = order.ranks[static_cast<std::size_t>(rank)];
    // Two passes per hop to the last rank, twice 1F1B's; weight gradients trail by two per hop from the first rank, so
    // all ranks run as many passes.
    const auto warm_up = passes.at_most_all(2 * (request.ranks - 1 - rank));
    const auto weight_lag = warm_up + passes.at_most_all(2 * rank);
    for (std::int32_t pass = 0; pass < passes.count() + weight_lag; ++pass) {
      append(cells, passes.forward(rank, pass));
      append(cells, passes.backward(PipelineWork::input_gradient, rank, pass - warm_up));
      append(cells, passes.backward(PipelineWork::weight_gradient, rank, pass - weight_lag));
    }
  }
  return order;
}

}  // namespace lockstep
