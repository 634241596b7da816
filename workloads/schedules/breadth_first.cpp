#include "workloads/schedules/interleaving.hpp"
#include "workloads/schedules/schedules_private.hpp"

namespace lockstep {

PipelineOrder breadth_first_order(const ScheduleRequest& request) {
  auto order = empty_order(request, StagePlacement::loop, *request.chunks);
  const auto chunks = order.shape.chunks;
  const auto microbatches = request.microbatches;
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    auto& cells = order.ranks[static_cast<std::size_t>(rank)];
    for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
      for (std::int32_t m = 0; m < microbatches; ++m) {
        append(cells, PipelineAction{PipelineWork::forward, chunk * request.ranks + rank, m});
      }
    }
    // Backwards mirror the forwards, the last microbatch first.
    for (auto chunk = chunks; chunk-- > 0;) {
      for (auto m = microbatches; m-- > 0;) {
        append(cells, PipelineAction{PipelineWork::backward, chunk * request.ranks + rank, m});
      }
    }
  }
  return order;
}

}  // namespace lockstep
