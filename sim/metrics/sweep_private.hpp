#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"

namespace lockstep::metrics {

/// Sweeps one rank's spans in simulated time and calls `visit(start, length, computing, first)` for every piece between
/// two changes; `first` is the communication that started first among those in flight, or -1. A piece stands for as
/// much of the step as Repetition::in_step says.
template <class Visit>
void sweep(const program::Program& program, const timeline::Timeline& timeline, std::int32_t rank, Visit visit) {
  struct Change {
    double time;
    bool begins;
    std::int32_t op;
  };
  std::vector<Change> changes;
  timeline.for_each_op_of(rank, [&](std::int32_t op) {
    const auto span = timeline.simulated(op, rank);
    if (span.end <= span.start) return;
    changes.push_back({span.start.value(), true, op});
    changes.push_back({span.end.value(), false, op});
  });
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.time != b.time ? a.time < b.time : a.op < b.op; });
  std::set<std::pair<double, std::int32_t>> communicating;  // by start, then program order
  std::map<std::int32_t, double> started;
  int computing = 0;
  double now = 0;
  for (const auto& change : changes) {
    if (change.time > now) {
      visit(now, change.time - now, computing > 0, communicating.empty() ? -1 : communicating.begin()->second);
      now = change.time;
    }
    if (program.ops[change.op].kind == program::ProgramOp::Kind::compute) {
      computing += change.begins ? 1 : -1;
    } else if (change.begins) {
      communicating.emplace(change.time, change.op);
      started[change.op] = change.time;
    } else {
      communicating.erase({started[change.op], change.op});
    }
  }
  const double end = timeline.simulated_makespan().value();
  if (end > now) visit(now, end - now, false, -1);
}

}  // namespace lockstep::metrics
