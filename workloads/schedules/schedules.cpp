#include "workloads/schedules/schedules.hpp"

#include <algorithm>

#include "workloads/schedules/schedule_limits_private.hpp"
#include "workloads/schedules/schedules_private.hpp"

namespace lockstep {
namespace {

using enum StagePlacement;

constexpr std::int64_t most_actions = 50'000'000;

// name, summary, placement, usual chunks, splits backward, overlaps, chooses by time, order
constexpr Schedule table[] = {
    {"naive", "one microbatch at a time through all stages", linear, 1, false, false, false, naive_order},
    {"gpipe", "all forwards, then all backwards", linear, 1, false, false, false, gpipe_order},
    {"1f1b", "one forward, one backward in the steady state", linear, 1, false, false, false, one_f_one_b_order},
    {"interleaved", "1F1B over several chunks per rank (Megatron)", loop, 2, false, false, false, interleaved_order},
    {"bfs", "looped breadth-first: every chunk does all its microbatches", loop, 2, false, false, false, breadth_first_order},
    {"zb-h1", "zero bubble H1: weight gradients fill the drain, memory of 1F1B", linear, 1, true, false, false, zb_h1_order},
    {"zb-h2", "zero bubble H2: twice the memory, no bubble within a rank's span", linear, 1, true, false, false, zb_h2_order},
    {"zb-1p", "zero bubble with at most P microbatches in flight (PyTorch)", linear, 1, true, false, false, zb_1p_order},
    {"zb-auto", "automatic zero bubble under a memory limit", linear, 1, true, false, true, zb_auto_order},
    {"interleaved-zb", "interleaved 1F1B with split backward", loop, 2, true, false, false, interleaved_zb_order},
    {"zb-v", "zero bubble on a V of two chunks (PyTorch)", v, 2, true, false, false, zb_v_order},
    {"zb-v-auto", "automatic zero bubble on a V under a memory limit", v, 2, true, false, true, zb_v_auto_order},
    {"v-half", "V with half the activation memory of 1F1B", v, 2, true, false, false, v_half_order},
    {"v-min", "V with the least activation memory, a third of 1F1B's", v, 2, true, false, false, v_min_order},
    {"v-1f1b", "1F1B on a V of two chunks", v, 2, false, false, false, v_1f1b_order},
    {"wave", "Hanayo: one or more waves over the ranks", wave, 2, false, false, false, wave_order},
    {"dualpipe", "DualPipe: microbatches from both ends, forwards overlapped with backwards", bidirectional, 1, true, true, false, dualpipe_order},
    {"dualpipe-v", "DualPipe cut in half: a V of two chunks", v, 2, true, true, false, dualpipe_v_order},
    {"overlap-1f1b", "interleaved 1F1B with forwards overlapped with backwards (Megatron, expert parallelism)", loop, 2, false, true, false, overlap_1f1b_order},
};

void check_size(const ScheduleRequest& request, std::int64_t chunks) {
  const auto between = [](const std::string& about, std::int64_t value, std::int64_t most) {
    if (value < 1 || value > most) throw ScheduleError(about, std::to_string(value) + " is out of range", "a number from 1 to " + std::to_string(most));
  };
  between("stages", request.ranks, most_pipeline_ranks);
  between("microbatches", request.microbatches, most_microbatches);
  between("chunks", chunks, most_chunks);
  const auto actions = std::int64_t{request.ranks} * chunks * 2;
  if (request.microbatches > most_actions / actions) {
    throw ScheduleError("microbatches", "the schedule would have more than " + std::to_string(most_actions) + " actions", "fewer stages, chunks or microbatches");
  }
}

// Options that a schedule knows nothing of are refused, not passed over.
void refuse_foreign_options(const Schedule& schedule, const ScheduleRequest& request) {
  const auto named = "'" + request.name + "'";
  if (schedule.usual_chunks == 1 && request.chunks.value_or(1) > 1) {
    throw ScheduleError("chunks", named + " has one chunk per rank, not " + std::to_string(*request.chunks), "1");
  }
  if (request.group && schedule.order != interleaved_order && schedule.order != overlap_1f1b_order) {
    throw ScheduleError("group", named + " has no group size", "a group with interleaved or overlap-1f1b only");
  }
  if (!request.memory_limit.empty() && !schedule.chooses_by_time) {
    throw ScheduleError("memory-limit", named + " knows no memory limit", "a limit with zb-auto or zb-v-auto only");
  }
}

}  // namespace

std::span<const Schedule> schedules() { return table; }

const Schedule* find_schedule(std::string_view name) {
  const auto found = std::find_if(std::begin(table), std::end(table), [&](const Schedule& schedule) { return schedule.name == name; });
  return found != std::end(table) ? found : nullptr;
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
  check_size(complete, *complete.chunks);
  refuse_foreign_options(*schedule, complete);
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
