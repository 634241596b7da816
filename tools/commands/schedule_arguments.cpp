#include "tools/commands/schedule_arguments.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <sstream>

#include "sim/core/known_word.hpp"
#include "sim/core/quantity_text.hpp"
#include "tools/commands/refuse.hpp"

namespace lockstep::commands {
namespace {

constexpr double longest_time = 1e15;

double number_of(const std::string& option, const std::string& text) {
  double value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value))
    refuse(option, "'" + text + "' is not a number", "a number such as 1.5");
  if (value < 0 || value > longest_time)
    refuse(option, "'" + text + "' is " + (value < 0 ? "negative" : "too large"), "a number from 0 to 1e15");
  return value;
}

std::vector<double> numbers_of(const std::string& option, const std::string& text) {
  std::vector<double> values;
  std::istringstream parts(text + ",");
  for (std::string part; std::getline(parts, part, ',');) values.push_back(number_of(option, part));
  return values;
}

workloads::StageTimes stage_times(const std::string& text) {
  const auto values = numbers_of("--times", text);
  if (values.size() != 3) {
    refuse("--times",
           "'" + text + "' has " + std::to_string(values.size()) + (values.size() == 1 ? " number" : " numbers"),
           "three, F,I,W: forward, input gradient and weight gradient");
  }
  if (values[0] + values[1] + values[2] <= 0)
    refuse("--times", "nothing takes any time", "at least one number above 0");
  return {values[0], values[1], values[2]};
}

workloads::StageTimes scaled(const workloads::StageTimes& times, double factor) {
  return {times.forward * factor, times.input_gradient * factor, times.weight_gradient * factor};
}

/// Whatever runs beside it, a forward or an input gradient takes no less than alone.
void check_pair(const workloads::PipelineTimes& times) {
  double least = 0;
  for (const auto& stage : times.stages) least = std::max({least, stage.forward, stage.input_gradient});
  if (times.pair && *times.pair < least * (1 - 1e-12))
    refuse("--pair", exact(*times.pair) + " is less than the " + exact(least) + " that one of the two takes alone",
           "a time from that to the sum F + I + W");
}

}  // namespace

const workloads::Schedule& schedule_named(const std::string& word) {
  std::vector<std::string> names;
  std::string list;
  for (const workloads::Schedule& known : workloads::schedules()) {
    names.emplace_back(known.name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  if (const auto* schedule = workloads::find_schedule(known_word(word, names))) return *schedule;
  const auto hint = did_you_mean(word, names);
  refuse("NAME", "'" + word + "' is not a schedule", "one of " + list + (hint.empty() ? "" : "; " + hint));
}

workloads::PipelineTimes times_for(const ScheduleArguments& arguments, std::int32_t stages, double share) {
  workloads::PipelineTimes times;
  times.stages.clear();
  std::istringstream parts(arguments.times + "/");
  for (std::string part; std::getline(parts, part, '/');) times.stages.push_back(scaled(stage_times(part), share));
  if (times.stages.size() != 1 && times.stages.count() != stages) {
    refuse("--times", "has times of " + std::to_string(times.stages.size()) + " stages",
           "F,I,W for all stages, or F,I,W/F,I,W/... for each of " + std::to_string(stages));
  }
  times.latency = number_of("--latency", arguments.latency);
  if (!arguments.pair.empty()) times.pair = number_of("--pair", arguments.pair) * share;
  if (arguments.stage_scale.empty()) {
    check_pair(times);
    return times;
  }
  const auto scales = numbers_of("--stage-scale", arguments.stage_scale);
  if (std::ssize(scales) != stages) {
    refuse("--stage-scale", "has " + std::to_string(scales.size()) + " numbers",
           "one for each of " + std::to_string(stages) + " stages");
  }
  if (times.stages.size() == 1) times.stages.assign(stages, times.stages.front());
  for (workloads::VirtualStageId stage = 0; stage < stages; ++stage)
    times.stages[stage] = scaled(times.stages[stage], scales[position_of(stage)]);
  check_pair(times);
  return times;
}

void share_out(const ScheduleArguments& arguments, std::int32_t slices, workloads::PipelineTimes& times) {
  times.slices = workloads::even_slices(slices);
  if (arguments.slice_scale.empty()) return;
  const auto scales = numbers_of("--slice-scale", arguments.slice_scale);
  if (std::ssize(scales) != slices) {
    refuse("--slice-scale", "has " + std::to_string(scales.size()) + " numbers",
           "one for each of " + std::to_string(slices) + " slices");
  }
  const double sum = std::accumulate(scales.begin(), scales.end(), 0.0);
  if (sum <= 0) refuse("--slice-scale", "no slice takes any time", "at least one number above 0");
  for (workloads::SliceId slice = 0; slice < slices; ++slice) times.slices[slice] = scales[position_of(slice)] / sum;
}

workloads::StagePlacement placement_named(const std::string& word) {
  std::string list;
  for (const auto placement : workloads::all_stage_placements) {
    if (name(placement) == word) return placement;
    list += (list.empty() ? "" : ", ") + std::string(name(placement));
  }
  refuse("--placement", word.empty() ? "is missing: the CSV does not give it" : "'" + word + "' is not a placement",
         "one of " + list);
}

namespace {

/// Those that a design may use; none are the usual one for its chunks.
std::vector<workloads::StagePlacement> placements_named(const std::string& words) {
  std::vector<workloads::StagePlacement> placements;
  if (words.empty()) return placements;
  std::istringstream parts(words + ",");
  for (std::string part; std::getline(parts, part, ',');) placements.push_back(placement_named(part));
  return placements;
}

}  // namespace

workloads::ScheduleRequest request_for(const ScheduleArguments& arguments, const workloads::Schedule& schedule,
                                       bool comparing) {
  workloads::ScheduleRequest request;
  request.name = schedule.name;
  request.ranks = *arguments.stages;
  request.microbatches = *arguments.microbatches;
  // In a comparison, options reach the schedules that know them.
  if (!comparing || schedule.takes_chunks()) request.chunks = arguments.chunks;
  if (!comparing || schedule.takes_group) request.group = arguments.group;
  if (!comparing || schedule.takes_slices) request.slices = arguments.slices.value_or(1);
  if (schedule.takes_slices && !arguments.slices)
    refuse("--slices", "is missing", "the number of slices into which " + request.name + " cuts a microbatch");
  const auto limits =
      arguments.memory_limit.empty() ? std::vector<double>() : numbers_of("--memory-limit", arguments.memory_limit);
  if (!comparing || schedule.chooses_by_time) request.memory_limit = limits;
  const auto chunks = std::clamp(request.chunks.value_or(schedule.usual_chunks), 1, 1024);
  const auto stages = std::int64_t{std::clamp(request.ranks, 1, 65'536)} * chunks;
  request.times = times_for(arguments, static_cast<std::int32_t>(stages), comparing ? 1.0 / chunks : 1);
  if (schedule.designs) request.placements = placements_named(arguments.placement);
  share_out(arguments, request.slices, request.times);
  return request;
}

}  // namespace lockstep::commands
