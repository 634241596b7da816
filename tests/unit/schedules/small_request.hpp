#pragma once
/// A schedule asked for by name, as `make_order` takes it.
#include <cstdint>
#include <string>

#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::test {

inline workloads::ScheduleRequest request_of(const std::string& name, std::int32_t ranks, std::int32_t microbatches) {
  workloads::ScheduleRequest asked;
  asked.name = name;
  asked.ranks = ranks;
  asked.microbatches = microbatches;
  return completed(asked);
}

}  // namespace lockstep::test
