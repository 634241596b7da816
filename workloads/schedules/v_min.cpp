#include "workloads/schedules/v_pattern.hpp"

namespace lockstep {

/// A microbatch never waits: one rank per slot, down, up, down and up the V.
PipelineOrder v_min_order(const ScheduleRequest& request) {
  const auto ranks = request.ranks;
  const auto turn = ranks % 3 == 0 ? 2 : 0;  // else gradients would meet forwards
  std::vector<VPattern> pattern;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    pattern.push_back({rank, 2 * ranks - rank - 1, 2 * ranks + turn + rank, 4 * ranks + turn - rank - 1});
  }
  return order_from_pattern(request, pattern);
}

}  // namespace lockstep
