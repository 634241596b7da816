#include "workloads/schedules/interleaving.hpp"
#include "workloads/schedules/schedules_private.hpp"

namespace lockstep {

PipelineOrder naive_order(const ScheduleRequest& request) {
  auto order = empty_order(request, StagePlacement::linear, 1);
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    auto& cells = order.ranks[static_cast<std::size_t>(rank)];
    for (std::int32_t m = 0; m < request.microbatches; ++m) {
      append(cells, PipelineAction{PipelineWork::forward, rank, m});
      append(cells, PipelineAction{PipelineWork::backward, rank, m});
    }
  }
  return order;
}

}  // namespace lockstep
