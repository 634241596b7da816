#include <algorithm>

#include "workloads/schedules/interleaving.hpp"
#include "workloads/schedules/schedules_private.hpp"

namespace lockstep {

/// As the authors' light version has it. The first `rank` backwards leave their weight gradient for the end, last in
/// first out; later ones are whole, and split only once the forwards are over, when the rank before waits for them.
PipelineOrder zb_h1_order(const ScheduleRequest& request) {
  using enum PipelineWork;
  auto order = empty_order(request, StagePlacement::linear, 1);
  const auto microbatches = request.microbatches;
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    auto& cells = order.ranks[static_cast<std::size_t>(rank)];
    const auto warm_up = std::min(request.ranks - 1 - rank, microbatches);
    for (std::int32_t step = 0; step < microbatches + warm_up; ++step) {
      if (step < microbatches) append(cells, PipelineAction{forward, rank, step});
      const auto m = step - warm_up;
      if (m < 0) continue;
      const bool forwards_left = step + 1 < microbatches;
      if (m >= rank && (forwards_left || rank == 0)) {
        append(cells, PipelineAction{backward, rank, m});
        continue;
      }
      append(cells, PipelineAction{input_gradient, rank, m});
      if (m >= rank) append(cells, PipelineAction{weight_gradient, rank, m});
    }
    for (auto m = std::min(rank, microbatches); m-- > 0;) append(cells, PipelineAction{weight_gradient, rank, m});
  }
  return order;
}

}  // namespace lockstep
