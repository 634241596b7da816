#include "workloads/schedules/interleaving.hpp"
#include "workloads/schedules/schedules_private.hpp"

namespace lockstep {

PipelineOrder one_f_one_b_order(const ScheduleRequest& request) {
  auto order = empty_order(request, StagePlacement::linear, 1);
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    auto& cells = order.ranks[static_cast<std::size_t>(rank)];
    const InterleavedPasses passes(order.shape, request.microbatches);
    // The backward that follows forward m is of the microbatch that the last rank has by now sent back.
    const auto warm_up = passes.at_most_all(request.ranks - 1 - rank);
    for (std::int32_t pass = 0; pass < passes.count() + warm_up; ++pass) {
      append(cells, passes.forward(rank, pass));
      append(cells, passes.backward(PipelineWork::backward, rank, pass - warm_up));
    }
  }
  return order;
}

}  // namespace lockstep
