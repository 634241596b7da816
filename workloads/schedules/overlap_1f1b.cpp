#include "workloads/schedules/interleaving.hpp"
#include "workloads/schedules/schedules_private.hpp"

namespace lockstep {

PipelineOrder overlap_1f1b_order(const ScheduleRequest& request) {
  if (request.ranks > 1 && *request.chunks < 2) {
    throw ScheduleError("chunks", "one chunk per rank leaves no interleaving to overlap in",
                        "at least 2 chunks with more than one stage");
  }
  const auto group = megatron_group(request);
  auto order = empty_order(request, StagePlacement::loop, *request.chunks);
  const InterleavedPasses passes(order.shape, group);
  for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
    auto& cells = order.ranks[static_cast<std::size_t>(rank)];
    // One forward more than interleaved 1F1B: neither half of a pair may wait for the other.
    const auto warm_up = passes.at_most_all((order.shape.chunks - 1) * group + 2 * (request.ranks - 1 - rank) + 1);
    for (std::int32_t pass = 0; pass < passes.count() + warm_up; ++pass) {
      const auto ahead = passes.forward(rank, pass);
      const auto back = passes.backward(PipelineWork::backward, rank, pass - warm_up);
      if (ahead && back) {
        cells.push_back({*ahead, back});
      } else {
        append(cells, ahead);
        append(cells, back);
      }
    }
  }
  return order;
}

}  // namespace lockstep
