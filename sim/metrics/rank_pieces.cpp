#include "sim/metrics/rank_pieces.hpp"

#include <algorithm>

#include "sim/metrics/sort_runs.hpp"

namespace lockstep::metrics {

RankPieces::RankPieces(const program::Program& program, const timeline::Timeline& timeline, std::int32_t of_rank)
    : rank(of_rank) {
  struct Change {
    double time;
    std::int32_t op;
    bool begins, computes;
  };
  std::vector<Change> changes;
  timeline.for_each_op_of(rank, [&](std::int32_t op) {
    const auto span = timeline.simulated(op, rank);
    if (span.end <= span.start) return;
    const double start = span.start.value(), end = span.end.value();
    const auto& of_program = program.ops[op];
    const bool computes = of_program.kind == program::ProgramOp::Kind::compute;
    const double held = computes ? std::max(start, end - of_program.held.value()) : end;
    changes.push_back({start, op, true, computes});
    changes.push_back({held, op, false, computes});
    if (!(held < end)) return;
    changes.push_back({held, op, true, false});
    changes.push_back({end, op, false, false});
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
    if (change.computes) {
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
