#include "tools/output/schedules/design_study.hpp"

#include <algorithm>
#include <array>

#include "sim/core/counted.hpp"
#include "tools/output/elements/table.hpp"

namespace lockstep::output {
namespace {

std::string rank_name(std::size_t rank) { return "rank " + std::to_string(rank); }

std::string counted(std::int32_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Where the time of one rank goes that it does not work, and what it does meanwhile.
struct Waits {
  std::array<double, 4> idle{};     ///< before its first work, for forwards, for gradients, after its last work
  std::int32_t early_forwards = 0;  ///< before the first gradient
  std::int32_t owed = 0;            ///< most weight gradients put off at once
};

constexpr std::array<const char*, 4> waits_for = {"for its first forward", "for forwards of earlier stages",
                                                  "for gradients of later stages", "after its last work"};

std::vector<Waits> waits_of(const workloads::PipelineOrder& order, const workloads::PipelineTimes& times) {
  using enum workloads::PipelineWork;
  const auto timing = time_order(order, times);
  std::vector<Waits> result;
  for (const auto rank : order.ranks.ids()) {
    Waits waits;
    double free = 0;
    bool any_gradient = false;
    std::int32_t owed = 0;
    for (const auto cell : order.ranks[rank].ids()) {
      const auto& span = timing.spans[rank][cell];
      const auto& first = order.ranks[rank][cell].first;
      waits.idle[cell == 0 ? 0 : first.work == forward ? 1 : 2] += span.start - free;
      free = span.end;
      for_each_action(order.ranks[rank][cell], [&](const workloads::PipelineAction& action) {
        if (action.work == forward && !any_gradient) ++waits.early_forwards;
        if (action.work != forward) any_gradient = true;
        if (action.work == input_gradient) waits.owed = std::max(waits.owed, ++owed);
        if (action.work == weight_gradient) --owed;
      });
    }
    waits.idle[3] = timing.makespan - free;
    result.push_back(waits);
  }
  return result;
}

std::vector<std::string> why(const workloads::ScheduleRequest& request, const workloads::Design& design) {
  if (design.published.empty())
    return {"No published schedule with this placement stays within these limits, so there is none to compare with."};
  const auto& rival = design.published.front();
  const double gained = 1 - design.makespan / rival.makespan;
  if (gained < 1e-9)
    return {"The published " + rival.name + " ends at the same time under these limits" +
            std::string(design.gap() < 1e-6 ? ", and no order ends earlier." : "; the search found nothing shorter.")};
  std::vector<std::string> text{"The best published schedule under these limits, " + rival.name + ", ends at " +
                                six_digits(rival.makespan) + "; this order ends " + percent(gained) + " earlier."};
  const auto ours = waits_of(design.order, request.times), theirs = waits_of(rival.order, request.times);
  std::size_t rank = 0, wait = 0;
  for (std::size_t r = 0; r < ours.size(); ++r) {
    for (std::size_t w = 0; w < waits_for.size(); ++w) {
      if (theirs[r].idle[w] - ours[r].idle[w] >
          theirs[rank].idle[wait] - ours[rank].idle[wait] + 1e-12 * rival.makespan)
        rank = r, wait = w;
    }
  }
  text.push_back("The wait that shrinks most is that of " + rank_name(rank) + ", which is idle " + waits_for[wait] +
                 " for " + six_digits(theirs[rank].idle[wait]) + " in " + rival.name + " and for " +
                 six_digits(ours[rank].idle[wait]) + " here.");
  std::string differs;
  if (ours[rank].early_forwards != theirs[rank].early_forwards)
    differs = " runs " + counted(ours[rank].early_forwards, "forward") + " before the first gradient (" + rival.name +
              ": " + std::to_string(theirs[rank].early_forwards) + ")";
  if (ours[rank].owed != theirs[rank].owed)
    differs += (differs.empty() ? "" : " and") + std::string(" puts off up to ") +
               counted(ours[rank].owed, "weight gradient") + " to fill waits (" + rival.name + ": " +
               std::to_string(theirs[rank].owed) + ")";
  text.push_back(differs.empty()
                     ? "There it runs as many forwards before the first gradient and puts off as many weight "
                       "gradients as " +
                           rival.name + ", in another order."
                     : "There it" + differs + ".");
  return text;
}

/// The bubble of the step on the worst rank, as a share of the makespan.
double worst_bubble(const workloads::Design& design, const workloads::ScheduleRequest& request, double makespan) {
  const auto busy = time_order(design.order, request.times).busy;
  return makespan > 0 ? 1 - *std::min_element(busy.begin(), busy.end()) / makespan : 0;
}

/// A tenth, or more where one input gradient takes more than that.
std::string more_than(const workloads::Design& design, const std::vector<workloads::MoreMemory>& more) {
  double least = 1, most = 0;
  for (const auto& one : more) {
    const double share = one.limit / design.limits[static_cast<std::size_t>(std::max(one.rank, 0))] - 1;
    least = std::min(least, share);
    most = std::max(most, share);
  }
  const auto from = percent(least), to = percent(most);
  return (from == to ? from : from + " to " + to) + " more memory";
}

std::string memory_sentence(const workloads::ScheduleRequest& request, const workloads::Design& design,
                            const std::vector<workloads::MoreMemory>& more) {
  if (more.empty()) return "";
  const auto& best = more.front();
  if (best.makespan >= design.makespan * (1 - 1e-9))
    return more_than(design, more) + " on any rank, or on all, lets the search find nothing shorter.";
  const auto where = best.rank < 0 ? std::string("every rank") : rank_name(static_cast<std::size_t>(best.rank));
  const double had = design.limits[static_cast<std::size_t>(std::max(best.rank, 0))];
  return "With " + percent(best.limit / had - 1) + " more memory on " + where + " (" + six_digits(best.limit) +
         " microbatches instead of " + six_digits(had) + ") the makespan would fall to " + six_digits(best.makespan) +
         ", and the bubble of the step on the worst rank from " +
         percent(worst_bubble(design, request, design.makespan)) + " to " +
         percent(worst_bubble(design, request, best.makespan)) + ".";
}

}  // namespace

DesignStudy study_design(const workloads::ScheduleRequest& request, const workloads::Design& design,
                         const workloads::DesignEffort& effort) {
  DesignStudy study{design.lower_bound, design.gap(), design.bounded_by, design.limits, {}, {}, {}, ""};
  for (const auto& rival : design.published) study.published.push_back({rival.name, rival.makespan});
  study.why = why(request, design);
  study.more_memory = with_more_memory(request, design, effort);
  study.stopped = design.stopped || effort.is_stopped();
  study.with_more_memory = memory_sentence(request, design, study.more_memory);
  return study;
}

}  // namespace lockstep::output
