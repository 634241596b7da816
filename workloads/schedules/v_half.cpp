#include "workloads/schedules/v_pattern.hpp"

namespace lockstep {

/// A microbatch goes down the V at one rank per two slots and comes back at one rank per slot, so that its two
/// chunks on a rank together are held for about half of 1F1B's time.
PipelineOrder v_half_order(const ScheduleRequest& request) {
  const auto ranks = request.ranks;
  const auto turn = ranks % 2 == 0 ? 3 : 0;  // for even P the second and the last would meet
  std::vector<VPattern> pattern;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    pattern.push_back({2 * rank, 3 * ranks - rank - 2, 3 * ranks + turn + 2 * rank - 1, 6 * ranks + turn - rank - 2});
  }
  return order_from_pattern(request, pattern);
}

}  // namespace lockstep
