#include "workloads/pipeline/schedules/schedules.hpp"

#include <algorithm>

#include "workloads/pipeline/schedule_limits_private.hpp"
#include "workloads/pipeline/schedules/schedules_private.hpp"

namespace lockstep::workloads {

extern const Schedule naive_schedule;
extern const Schedule gpipe_schedule;
extern const Schedule one_f_one_b_schedule;
extern const Schedule interleaved_schedule;
extern const Schedule breadth_first_schedule;
extern const Schedule zb_h1_schedule;
extern const Schedule zb_h2_schedule;
extern const Schedule zb_1p_schedule;
extern const Schedule zb_auto_schedule;
extern const Schedule interleaved_zb_schedule;
extern const Schedule zb_v_schedule;
extern const Schedule zb_v_auto_schedule;
extern const Schedule v_half_schedule;
extern const Schedule v_min_schedule;
extern const Schedule v_1f1b_schedule;
extern const Schedule wave_schedule;
extern const Schedule dualpipe_schedule;
extern const Schedule dualpipe_v_schedule;
extern const Schedule overlap_1f1b_schedule;
extern const Schedule seq1f1b_schedule;
extern const Schedule seq1f1b_interleaved_schedule;
extern const Schedule slimpipe_schedule;
extern const Schedule design_schedule;

namespace {

// All schedules, the simplest first: a line each.
// clang-format off
const std::reference_wrapper<const Schedule> table[] = {
    naive_schedule,
    gpipe_schedule,
    one_f_one_b_schedule,
    interleaved_schedule,
    breadth_first_schedule,
    zb_h1_schedule,
    zb_h2_schedule,
    zb_1p_schedule,
    zb_auto_schedule,
    interleaved_zb_schedule,
    zb_v_schedule,
    zb_v_auto_schedule,
    v_half_schedule,
    v_min_schedule,
    v_1f1b_schedule,
    wave_schedule,
    dualpipe_schedule,
    dualpipe_v_schedule,
    overlap_1f1b_schedule,
    seq1f1b_schedule,
    seq1f1b_interleaved_schedule,
    slimpipe_schedule,
    design_schedule,
};
// clang-format on

using enum StagePlacement;

constexpr std::int64_t most_actions = 50'000'000;

using Refusal = std::optional<ScheduleProblem>;

Refusal wrong_size(const ScheduleRequest& request, std::int64_t chunks) {
  const auto outside = [](const std::string& about, std::int64_t value, std::int64_t most) -> Refusal {
    if (value >= 1 && value <= most) return {};
    return ScheduleProblem{about, std::to_string(value) + " is out of range",
                           "a number from 1 to " + std::to_string(most)};
  };
  if (auto stages = outside("stages", request.ranks, most_pipeline_ranks)) return stages;
  if (auto microbatches = outside("microbatches", request.microbatches, most_microbatches)) return microbatches;
  if (auto wrong = outside("chunks", chunks, most_chunks)) return wrong;
  if (auto wrong = outside("slices", request.slices, most_slices)) return wrong;
  const auto actions = std::int64_t{request.ranks} * chunks * 2 * request.slices;
  if (request.microbatches <= most_actions / actions) return {};
  return ScheduleProblem{
      "microbatches", "the schedule would have more than " + std::to_string(most_actions) + " actions",
      request.slices > 1 ? "fewer stages, chunks, slices or microbatches" : "fewer stages, chunks or microbatches"};
}

// Options that a schedule knows nothing of are refused, not passed over.
Refusal foreign_option(const Schedule& schedule, const ScheduleRequest& request, std::int32_t chunks) {
  const auto named = "'" + std::string(schedule.name) + "'";
  if (schedule.usual_chunks == 1 && chunks > 1 && !schedule.takes_chunks())
    return ScheduleProblem{"chunks", named + " has one chunk per rank, not " + std::to_string(chunks), "1"};
  if (schedule.placement == v && chunks != 2) {
    return ScheduleProblem{"chunks",
                           std::string(schedule.name) + " with " + std::to_string(chunks) + " chunks per rank",
                           "2 chunks per rank, the two arms of the V"};
  }
  if (request.slices > 1 && !schedule.takes_slices)
    return ScheduleProblem{"slices", named + " does not cut microbatches into slices",
                           "slices with seq1f1b, seq1f1b-interleaved or slimpipe only"};
  if (request.group && !schedule.takes_group)
    return ScheduleProblem{"group", named + " has no group size", "a group with interleaved or overlap-1f1b only"};
  if (!request.placements.empty() && !schedule.designs) {
    return ScheduleProblem{"placement", named + " has its own placement", "a placement with design only"};
  }
  if (!request.memory_limit.empty() && !schedule.chooses_by_time) {
    return ScheduleProblem{"memory-limit", named + " knows no memory limit",
                           "a limit with zb-auto, zb-v-auto or design only"};
  }
  return {};
}

}  // namespace

std::span<const std::reference_wrapper<const Schedule>> schedules() { return table; }

const Schedule* find_schedule(std::string_view name) {
  const auto found =
      std::find_if(std::begin(table), std::end(table), [&](const Schedule& schedule) { return schedule.name == name; });
  return found != std::end(table) ? &found->get() : nullptr;
}

std::optional<ScheduleProblem> Schedule::why_not(const ScheduleRequest& request) const {
  auto complete = request;
  complete.chunks = request.chunks.value_or(usual_chunks);
  if (auto size = wrong_size(complete, *complete.chunks)) return size;
  if (auto option = foreign_option(*this, complete, *complete.chunks)) return option;
  return own_rule != nullptr ? own_rule(complete) : std::nullopt;
}

std::optional<ScheduleProblem> Schedule::why_not(std::int32_t ranks, std::int64_t microbatches, std::int32_t chunks,
                                                 std::optional<std::int32_t> group) const {
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
    for (const Schedule& known : table) names += (names.empty() ? "" : ", ") + std::string(known.name);
    throw ScheduleError("schedule", "'" + request.name + "' is not a schedule", "one of " + names);
  }
  auto complete = request;
  complete.chunks = request.chunks.value_or(schedule->usual_chunks);
  if (const auto problem = schedule->why_not(complete))
    throw ScheduleError(problem->about, problem->what, problem->expected);
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
  order.shape = {placement, request.ranks, chunks, request.microbatches * request.slices, request.slices};
  order.ranks.resize(request.ranks);
  return order;
}

}  // namespace lockstep::workloads
