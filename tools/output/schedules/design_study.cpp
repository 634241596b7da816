#include "tools/output/schedules/design_study.hpp"

#include <algorithm>

#include "sim/core/counted.hpp"
#include "tools/output/elements/table.hpp"

namespace lockstep::output {
namespace {

std::string rank_name(std::size_t rank) { return "rank " + std::to_string(rank); }

std::string counted(std::int32_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
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

std::string answer(const DesignStudy& study, double makespan) {
  std::string text = "The designed order ends at " + six_digits(makespan);
  if (!study.published.empty()) {
    const auto& best = study.published.front();
    const double gained = 1 - makespan / best.makespan;
    text += gained < 1e-9 ? ", as " + best.schedule + " does, the best published one under the same limits"
                          : ", " + percent(gained) + " before " + best.schedule + " (" + six_digits(best.makespan) +
                                "), the best published one under the same limits";
  }
  return text + (study.gap < 1e-6 ? "; no order ends earlier."
                                  : "; no order ends before " + six_digits(study.lower_bound) +
                                        ", which it is within " + percent(study.gap) + " of.");
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

std::string what_more_memory_gives(const workloads::ScheduleRequest& request, const workloads::Design& design,
                                   const std::vector<workloads::MoreMemory>& more) {
  const auto& best = more.front();
  if (best.makespan >= design.makespan * (1 - 1e-9)) {
    const auto all = std::find_if(more.begin(), more.end(), [](const auto& one) { return one.rank < 0; });
    const bool is_proven = all != more.end() && all->lower_bound >= design.makespan * (1 - 1e-9);
    return more_than(design, more) + " on any rank, or on all, " +
           (is_proven ? "makes no order shorter." : "lets the search find nothing shorter.");
  }
  const auto where = best.rank < 0 ? std::string("every rank") : rank_name(static_cast<std::size_t>(best.rank));
  const double had = design.limits[static_cast<std::size_t>(std::max(best.rank, 0))];
  return "With " + percent(best.limit / had - 1) + " more memory on " + where + " (" + six_digits(best.limit) +
         " microbatches instead of " + six_digits(had) + ") the makespan would fall to " + six_digits(best.makespan) +
         ", and the bubble of the step on the worst rank from " +
         percent(worst_bubble(design, request, design.makespan)) + " to " +
         percent(worst_bubble(design, request, best.makespan)) + ".";
}

/// "rank 3", "ranks 1, 2 and 5", "ranks 1 to 14", "7 ranks"; in their order.
std::string ranks_text(const std::vector<workloads::StageId>& ranks) {
  if (ranks.size() == 1) return "rank " + std::to_string(ranks.front());
  if (ranks.size() > 2 && ranks.back() - ranks.front() + 1 == std::ssize(ranks))
    return "ranks " + std::to_string(ranks.front()) + " to " + std::to_string(ranks.back());
  if (ranks.size() > 4) return std::to_string(ranks.size()) + " ranks";
  std::string text = "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i)
    text += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
  return text;
}

std::string what_less_work_gives(const workloads::Design& design, const workloads::LessWork& less) {
  std::string who = "all ranks, which have the same work,";
  if (less.ranks.size() < design.order.ranks.size())
    who = ranks_text(less.ranks) +
          (less.ranks.size() == 1 ? ", the one with the most work," : ", those with the most work,");
  const bool is_shorter = less.makespan < design.makespan * (1 - 1e-9);
  return "With 10 % less time for the work of " + who + " the makespan would " +
         (is_shorter
              ? "fall to " + six_digits(less.makespan) + ", " + percent(1 - less.makespan / design.makespan) + " less"
              : "stay") +
         (less.makespan > less.lower_bound * (1 + 1e-6)
              ? "; no order could end before " + six_digits(less.lower_bound) + " then."
              : ".");
}

}  // namespace

std::vector<RankWaits> waits_of(const workloads::PipelineOrder& order, const workloads::PipelineTimes& times) {
  using enum workloads::PipelineWork;
  const auto timing = time_order(order, times);
  std::vector<RankWaits> result;
  for (const auto rank : order.ranks.ids()) {
    RankWaits waits;
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

DesignStudy study_design(const workloads::ScheduleRequest& request, const workloads::Design& design,
                         const workloads::DesignEffort& effort) {
  DesignStudy study{design.lower_bound, design.gap(), design.bounded_by, design.limits, {}};
  for (const auto& rival : design.published) study.published.push_back({rival.name, rival.makespan});
  if (!design.published.empty()) study.best_published = design.published.front().order;
  study.reasons.answer = answer(study, design.makespan);
  study.reasons.why = why(request, design);
  study.more_memory = with_more_memory(request, design, effort);
  study.less_work = with_less_work(request, design, effort);
  study.stopped = design.stopped || effort.is_stopped();
  if (!study.more_memory.empty())
    study.reasons.what_if.push_back(what_more_memory_gives(request, design, study.more_memory));
  if (study.less_work) study.reasons.what_if.push_back(what_less_work_gives(design, *study.less_work));
  return study;
}

}  // namespace lockstep::output
