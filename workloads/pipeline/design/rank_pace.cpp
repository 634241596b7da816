#include "workloads/pipeline/design/rank_pace.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <utility>

namespace lockstep::workloads {
namespace {

/// Jackson's bound at the pace of pairs throughout: whatever has most time after it goes first.
double at_full_pace(const std::vector<RankJob>& jobs, double share) {
  using Waiting = std::pair<double, double>;  // time after, time left
  std::priority_queue<Waiting> waiting;
  double now = 0, bound = 0;
  for (std::size_t next = 0; next < jobs.size() || !waiting.empty();) {
    if (waiting.empty()) now = std::max(now, jobs[next].before);
    while (next < jobs.size() && jobs[next].before <= now) {
      waiting.emplace(jobs[next].after, share * jobs[next].time);
      ++next;
    }
    auto [left, time] = waiting.top();
    waiting.pop();
    const double until = next < jobs.size() ? jobs[next].before : now + time;
    if (now + time <= until) {
      now += time;
      bound = std::max(bound, now + left);
    } else {
      waiting.emplace(left, time - (until - now));
      now = until;
    }
  }
  return bound;
}

/// Work that can be done until each instant, if pairs run between two of them.
struct Capacity {
  double from, to, share;
  [[nodiscard]] double until(double instant) const {
    const double paired = std::max(0.0, std::min(instant, to) - from);
    return instant + paired * (1 / share - 1);
  }
};

/// Whether all jobs are done by a makespan; the one that has to end first goes first. Instants are counted in the work
/// that can be done until them.
bool is_enough(const std::vector<RankJob>& jobs, double makespan, const Capacity& capacity) {
  using Waiting = std::pair<double, double>;  // done by, work left
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting;
  const double rounding = 1e-12 * makespan;
  double now = 0;
  for (std::size_t next = 0; next < jobs.size() || !waiting.empty();) {
    if (waiting.empty()) now = std::max(now, capacity.until(jobs[next].before));
    while (next < jobs.size() && capacity.until(jobs[next].before) <= now) {
      waiting.emplace(capacity.until(makespan - jobs[next].after), jobs[next].time);
      ++next;
    }
    auto [by, work] = waiting.top();
    waiting.pop();
    const double until = next < jobs.size() ? capacity.until(jobs[next].before) : now + work;
    if (now + work <= until) {
      now += work;
      if (now > by + rounding) return false;
    } else {
      waiting.emplace(by, work - (until - now));
      now = until;
    }
  }
  return true;
}

}  // namespace

double RankPace::done(double start, double work) const {
  const double slow = std::min(work, std::max(0.0, alone - start));
  return start + slow + share * (work - slow);
}

double least_makespan(std::vector<RankJob> jobs, RankPace first, double alone_at_the_end, double tolerance) {
  std::sort(jobs.begin(), jobs.end(), [](const RankJob& a, const RankJob& b) { return a.before < b.before; });
  double least = at_full_pace(jobs, first.share);
  if (first.share >= 1) return least;
  const auto is_reached = [&](double makespan) {
    return is_enough(jobs, makespan, {first.alone, std::max(first.alone, makespan - alone_at_the_end), first.share});
  };
  double most = at_full_pace(jobs, 1);  // one after the other
  while (most - least > tolerance) {
    const double middle = least + (most - least) / 2;
    if (middle <= least || middle >= most) break;
    (is_reached(middle) ? most : least) = middle;
  }
  return least;
}

}  // namespace lockstep::workloads
