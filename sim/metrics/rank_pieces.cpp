#include "sim/metrics/rank_pieces.hpp"

#include <algorithm>

#include "sim/metrics/sort_runs.hpp"

namespace lockstep::metrics {

RankPieces::RankPieces(const program::Program& program, const timeline::Timeline& timeline, std::int32_t of_rank)
    : rank(of_rank) {
  struct Change {
    double time;
    std::int32_t op;
    bool begins;
  };
  std::vector<Change> changes;
  timeline.for_each_op_of(rank, [&](std::int32_t op) {
    const auto span = timeline.simulated(op, rank);
    if (span.end <= span.start) return;
    changes.push_back({span.start.value(), op, true});
    changes.push_back({span.end.value(), op, false});
  });
  sort_runs(changes, [](const Change& a, const Change& b) { return a.time != b.time ? a.time < b.time : a.op < b.op; });
  std::vector<std::int32_t> communicating;  // by start, then program order: so they begin
  int computing = 0;
  double now = 0;
  for (const auto& change : changes) {
    if (change.time > now) {
      pieces.push_back({now, change.time - now, computing > 0, communicating.empty() ? -1 : communicating.front()});
      now = change.time;
    }
    if (program.ops[change.op].kind == program::ProgramOp::Kind::compute) {
      computing += change.begins ? 1 : -1;
    } else if (change.begins) {
      communicating.push_back(change.op);
    } else {
      communicating.erase(std::find(communicating.begin(), communicating.end(), change.op));
    }
  }
  const double end = timeline.simulated_makespan().value();
  if (end > now) pieces.push_back({now, end - now, false, -1});
  pieces.shrink_to_fit();
}

}  // namespace lockstep::metrics
