#pragma once
/// The words of `lockstep schedule` as values; what is wrong with them is a ConfigError at their option.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::commands {

struct ScheduleArguments {
  std::vector<std::string> names;
  std::optional<std::int32_t> stages, microbatches, chunks, group, slices;
  std::string memory_limit, times = "1,1,1", stage_scale, slice_scale, latency = "0", pair;
  std::string import, placement;
  std::string csv, csv_dialect = "current", json, out, svg;
  std::optional<double> limit;
  bool communication = false, list = false;
};

[[nodiscard]] const workloads::Schedule& schedule_named(const std::string& word);
[[nodiscard]] workloads::StagePlacement placement_named(const std::string& word);

/// Times for an order of so many stages; `share` is the part of a rank's time that a chunk takes.
[[nodiscard]] workloads::PipelineTimes times_for(const ScheduleArguments& arguments, std::int32_t stages,
                                                 double share = 1);
/// What share of a microbatch's time each of its slices takes: equal shares, or as the option says.
void share_out(const ScheduleArguments& arguments, std::int32_t slices, workloads::PipelineTimes& times);

/// `comparing`: with other schedules, at equal devices and work.
[[nodiscard]] workloads::ScheduleRequest request_for(const ScheduleArguments& arguments,
                                                     const workloads::Schedule& schedule, bool comparing);

}  // namespace lockstep::commands
