#include "workloads/schedules/schedules_private.hpp"

namespace lockstep {

PipelineOrder zb_1p_order(const ScheduleRequest& request) {
  auto order = interleaved_zb_order(request);  // with the one chunk of a linear placement
  order.shape.placement = StagePlacement::linear;
  return order;
}

}  // namespace lockstep
