#include "workloads/schedules/schedules_private.hpp"

namespace lockstep {

PipelineOrder breadth_first_order(const ScheduleRequest& request) {
  throw ScheduleError("schedule", "'" + request.name + "' is not in this version", "another schedule");
}

}  // namespace lockstep
