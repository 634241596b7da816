#include "workloads/schedules/interleaving.hpp"
#include "workloads/schedules/schedules_private.hpp"

namespace lockstep {

PipelineOrder interleaved_zb_order(const ScheduleRequest& request) {
  const auto group = group_of(request);
  auto order = empty_order(request, StagePlacement::loop, *request.chunks);
  const InterleavedPasses passes(order.shape, group);
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    auto& cells = order.ranks[static_cast<std::size_t>(rank)];
    // One pass per hop to the last rank, half of interleaved 1F1B's; weight gradients trail by one per hop from the
    // first rank, so all ranks run as many passes.
    const auto warm_up = passes.at_most_all((order.shape.chunks - 1) * group + (request.ranks - 1 - rank));
    const auto weight_lag = warm_up + passes.at_most_all(rank);
    for (std::int32_t pass = 0; pass < passes.count() + weight_lag; ++pass) {
      append(cells, passes.forward(rank, pass));
      append(cells, passes.backward(PipelineWork::input_gradient, rank, pass - warm_up));
      append(cells, passes.backward(PipelineWork::weight_gradient, rank, pass - weight_lag));
    }
  }
  return order;
}

}  // namespace lockstep
