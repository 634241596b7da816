#include "workloads/schedules/interleaving.hpp"
#include "workloads/schedules/schedules_private.hpp"

namespace lockstep {

PipelineOrder gpipe_order(const ScheduleRequest& request) {
  auto order = empty_order(request, StagePlacement::linear, 1);
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    auto& cells = order.ranks[static_cast<std::size_t>(rank)];
    for (const auto work : {PipelineWork::forward, PipelineWork::backward}) {
      for (std::int32_t m = 0; m < request.microbatches; ++m) append(cells, PipelineAction{work, rank, m});
    }
  }
  return order;
}

}  // namespace lockstep
