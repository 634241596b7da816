#include "workloads/pipeline/design/published_words.hpp"

#include <algorithm>

namespace lockstep::workloads {
namespace {

/// The request of a schedule once for each group of microbatches that it could form.
std::vector<ScheduleRequest> requests_of(const Schedule& schedule, const DesignProblem& problem,
                                         const ScheduleRequest& designed) {
  ScheduleRequest request;
  request.name = schedule.name;
  request.ranks = problem.shape.ranks;
  request.microbatches = problem.shape.microbatches;
  request.chunks = problem.shape.chunks;
  request.activations = designed.activations;
  request.times = designed.times;
  if (schedule.chooses_by_time) request.memory_limit = designed.memory_limit;
  std::vector<ScheduleRequest> made{request};
  if (!schedule.takes_group) return made;
  for (std::int32_t group = request.ranks; group <= request.microbatches; group *= 2) {
    request.group = group;
    made.push_back(request);
  }
  return made;
}

}  // namespace

std::vector<PublishedWords> published_words(const DesignProblem& problem, const ScheduleRequest& designed) {
  std::vector<PublishedWords> found;
  for (const Schedule& schedule : schedules()) {
    if (schedule.designs || schedule.takes_slices || schedule.placement != problem.shape.placement) continue;
    if (schedule.usual_chunks == 1 && problem.shape.chunks != 1) continue;
    for (const auto& request : requests_of(schedule, problem, designed)) {
      if (schedule.why_not(request)) continue;
      try {
        auto order = make_order(request);
        auto words = words_of(problem, order);
        if (!problem.fits(words)) continue;
        const auto same = [&](const PublishedWords& other) {  // another group, but the same order
          return other.order.schedule == request.name && other.words == words;
        };
        if (std::any_of(found.begin(), found.end(), same)) continue;
        found.push_back({request.name + (request.group ? " N=" + std::to_string(*request.group) : ""), std::move(words),
                         std::move(order)});
      } catch (const ScheduleError&) {  // an automatic schedule needs more memory than the limit gives
      }
    }
  }
  return found;
}

}  // namespace lockstep::workloads
