#pragma once
/// Every schedule on every small size that it takes.
#include <gtest/gtest.h>

#include <string>

#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::test {

/// P up to 6, M with and without a remainder and fewer than P, V up to 4. `visit` gets the request, complete.
template <class Visit>
int for_each_request(Visit visit) {
  int requests = 0;
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    for (std::int32_t ranks = 1; ranks <= 6; ++ranks) {
      for (const std::int32_t microbatches : {1, 2, 3, 5, 6, 8, 12}) {
        for (std::int32_t chunks = 1; chunks <= 4; ++chunks) {
          workloads::ScheduleRequest request;
          request.name = schedule.name;
          request.ranks = ranks;
          request.microbatches = microbatches;
          request.chunks = chunks;
          if (schedule.why_not(request)) continue;
          SCOPED_TRACE(request.name + " P" + std::to_string(ranks) + " M" + std::to_string(microbatches) + " V" +
                       std::to_string(chunks));
          visit(request);
          ++requests;
        }
      }
    }
  }
  return requests;
}

/// Stages, and works of one stage, that all differ, so that nothing holds by symmetry.
[[nodiscard]] inline workloads::PipelineTimes times_that_differ(std::int32_t stages, double latency) {
  workloads::PipelineTimes times{{}, latency, std::nullopt};
  for (std::int32_t stage = 0; stage < stages; ++stage)
    times.stages.push_back({1.0 + 0.25 * (stage % 5), 1.5 - 0.5 * (stage % 3), 0.5 + 0.75 * (stage % 2)});
  return times;
}

}  // namespace lockstep::test
