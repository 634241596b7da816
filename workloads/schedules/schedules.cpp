#include "workloads/schedules/schedules.hpp"

#include <algorithm>

#include "workloads/schedules/schedule_limits_private.hpp"
#include "workloads/schedules/schedules_private.hpp"

namespace lockstep {
namespace {

using enum StagePlacement;

constexpr std::int64_t most_actions = 50'000'000;

// name, summary, placement, usual chunks, splits backward, overlaps, chooses by time, takes group, own rule, order
constexpr Schedule table[] = {
    {"naive", "one microbatch at a time through all stages", linear, 1, false, false, false, false, nullptr, naive_order},
    {"gpipe", "all forwards, then all backwards", linear, 1, false, false, false, false, nullptr, gpipe_order},
    {"1f1b", "one forward, one backward in the steady state", linear, 1, false, false, false, false, nullptr, one_f_one_b_order},
    {"interleaved", "1F1B over several chunks per rank (Megatron)", loop, 2, false, false, false, true, interleaved_rule, interleaved_order},
    {"bfs", "looped breadth-first: every chunk does all its microbatches", loop, 2, false, false, false, false, nullptr, breadth_first_order},
    {"zb-h1", "zero bubble H1: weight gradients fill the drain, memory of 1F1B", linear, 1, true, false, false, false, nullptr, zb_h1_order},
    {"zb-h2", "zero bubble H2: twice the memory, no bubble within a rank's span", linear, 1, true, false, false, false, nullptr, zb_h2_order},
    {"zb-1p", "zero bubble with at most P microbatches in flight (PyTorch)", linear, 1, true, false, false, false, equal_rounds_rule, zb_1p_order},
    {"zb-auto", "automatic zero bubble under a memory limit", linear, 1, true, false, true, false, nullptr, zb_auto_order},
    {"interleaved-zb", "interleaved 1F1B with split backward", loop, 2, true, false, false, false, equal_rounds_rule, interleaved_zb_order},
    {"zb-v", "zero bubble on a V of two chunks (PyTorch)", v, 2, true, false, false, false, zb_v_rule, zb_v_order},
    {"zb-v-auto", "automatic zero bubble on a V under a memory limit", v, 2, true, false, true, false, nullptr, zb_v_auto_order},
    {"v-half", "V with half the activation memory of 1F1B", v, 2, true, false, false, false, long_search_rule, v_half_order},
    {"v-min", "V with the least activation memory, a third of 1F1B's", v, 2, true, false, false, false, long_search_rule, v_min_order},
    {"v-1f1b", "1F1B on a V of two chunks", v, 2, false, false, false, false, long_search_rule, v_1f1b_order},
    {"wave", "Hanayo: one or more waves over the ranks", wave, 2, false, false, false, false, wave_rule, wave_order},
    {"dualpipe", "DualPipe: microbatches from both ends, forwards overlapped with backwards", bidirectional, 1, true, true, false, false, dualpipe_rule, dualpipe_order},
    {"dualpipe-v", "DualPipe cut in half: a V of two chunks", v, 2, true, true, false, false, dualpipe_v_rule, dualpipe_v_order},
    {"overlap-1f1b", "interleaved 1F1B with forwards overlapped with backwards (Megatron, expert parallelism)", loop, 2, false, true, false, true, overlap_1f1b_rule, overlap_1f1b_order},
};

using Refusal = std::optional<ScheduleProblem>;

Refusal wrong_size(const ScheduleRequest& request, std::int64_t chunks) {
  const auto outside = [](const std::string& about, std::int64_t value, std::int64_t most) -> Refusal {
    if (value >= 1 && value <= most) return {};
    return ScheduleProblem{about, std::to_string(value) + " is out of range", "a number from 1 to " + std::to_string(most)};
  };
  if (auto stages = outside("stages", request.ranks, most_pipeline_ranks)) return stages;
  if (auto microbatches = outside("microbatches", request.microbatches, most_microbatches)) return microbatches;
  if (auto wrong = outside("chunks", chunks, most_chunks)) return wrong;
  const auto actions = std::int64_t{request.ranks} * chunks * 2;
  if (request.microbatches <= most_actions / actions) return {};
  return ScheduleProblem{"microbatches", "the schedule would have more than " + std::to_string(most_actions) + " actions", "fewer stages, chunks or microbatches"};
}

// Options that a schedule knows nothing of are refused, not passed over.
Refusal foreign_option(const Schedule& schedule, const ScheduleRequest& request, std::int32_t chunks) {
  const auto named = "'" + std::string(schedule.name) + "'";
  if (schedule.usual_chunks == 1 && chunks > 1) return ScheduleProblem{"chunks", named + " has one chunk per rank, not " + std::to_string(chunks), "1"};
  if (schedule.placement == v && chunks != 2) {
    return ScheduleProblem{"chunks", std::string(schedule.name) + " with " + std::to_string(chunks) + " chunks per rank", "2 chunks per rank, the two arms of the V"};
  }
  if (request.group && !schedule.takes_group) return ScheduleProblem{"group", named + " has no group size", "a group with interleaved or overlap-1f1b only"};
  if (!request.memory_limit.empty() && !schedule.chooses_by_time) {
    return ScheduleProblem{"memory-limit", named + " knows no memory limit", "a limit with zb-auto or zb-v-auto only"};
  }
  return {};
}

}  // namespace

std::span<const Schedule> schedules() { return table; }

const Schedule* find_schedule(std::string_view name) {
  const auto found = std::find_if(std::begin(table), std::end(table), [&](const Schedule& schedule) { return schedule.name == name; });
  return found != std::end(table) ? found : nullptr;
}

std::optional<ScheduleProblem> Schedule::why_not(const ScheduleRequest& request) const {
  auto complete = request;
  complete.chunks = request.chunks.value_or(usual_chunks);
  if (auto size = wrong_size(complete, *complete.chunks)) return size;
  if (auto option = foreign_option(*this, complete, *complete.chunks)) return option;
  return own_rule != nullptr ? own_rule(complete) : std::nullopt;
}

std::optional<ScheduleProblem> Schedule::why_not(std::int32_t ranks, std::int64_t microbatches, std::int32_t chunks, std::optional<std::int32_t> group) const {
  ScheduleRequest request;
  request.name = name;
  request.ranks = ranks;
  request.microbatches = static_cast<std::int32_t>(std::min(microbatches, most_microbatches + 1));
  request.chunks = chunks;
  request.group = group;
  return why_not(request);
}

ScheduleRequest completed(const ScheduleRequest& request) {
  const auto* schedule = find_schedule(request.name);
  if (schedule == nullptr) {
    std::string names;
    for (const auto& known : table) names += (names.empty() ? "" : ", ") + std::string(known.name);
    throw ScheduleError("schedule", "'" + request.name + "' is not a schedule", "one of " + names);
  }
  auto complete = request;
  complete.chunks = request.chunks.value_or(schedule->usual_chunks);
  if (const auto problem = schedule->why_not(complete)) throw ScheduleError(problem->about, problem->what, problem->expected);
  return complete;
}

PipelineOrder make_order(const ScheduleRequest& request) {
  const auto complete = completed(request);
  auto order = find_schedule(request.name)->order(complete);
  order.schedule = request.name;
  return order;
}

PipelineOrder empty_order(const ScheduleRequest& request, StagePlacement placement, std::int32_t chunks) {
  PipelineOrder order;
  order.schedule = request.name;
  order.shape = {placement, request.ranks, chunks, request.microbatches};
  order.ranks.resize(static_cast<std::size_t>(request.ranks));
  return order;
}

}  // namespace lockstep
