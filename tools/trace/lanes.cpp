#include "tools/trace/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "sim/core/errors.hpp"
#include "sim/metrics/sort_runs.hpp"

namespace lockstep::trace {

std::int64_t nanoseconds(Seconds time) { return std::llround(time.value() * 1e9); }

namespace {

/// Where a copy of the repeated period meets the next, rounding may let spans overlap by a nanosecond.
void join_copies(TraceLane& lane) {
  for (std::size_t i = 1; i < lane.size(); ++i) {
    const auto& before = lane[i - 1];
    if (before.copy != lane[i].copy && before.end_ns == lane[i].start_ns + 1 && lane[i].end_ns >= before.end_ns)
      lane[i].start_ns = before.end_ns;
  }
}

}  // namespace

Indexed<program::StreamId, TraceLane> lanes_of(const program::Program& program, const timeline::Timeline& timeline,
                                               std::int32_t rank) {
  Indexed<program::StreamId, TraceLane> lanes(program.streams.size());
  timeline.for_each_op_of(rank, [&](std::int32_t id) {
    timeline.for_each_run(id, rank, [&](const timeline::Interval& span, std::int64_t copy) {
      for (const auto stream : program.ops[id].streams) {
        lanes[stream].push_back({nanoseconds(span.start), nanoseconds(span.end), id, copy});
      }
    });
  });
  for (auto& lane : lanes) {
    metrics::sort_runs(lane, [](const LaneSpan& a, const LaneSpan& b) {
      return std::tie(a.start_ns, a.end_ns, a.copy, a.op) < std::tie(b.start_ns, b.end_ns, b.copy, b.op);
    });
    join_copies(lane);
    const auto overlap = std::adjacent_find(lane.begin(), lane.end(),
                                            [](const auto& a, const auto& b) { return a.end_ns > b.start_ns; });
    if (overlap != lane.end()) {
      throw InternalError("operations " + std::to_string(overlap->op) + " and " + std::to_string((overlap + 1)->op) +
                          " overlap on one stream of rank " + std::to_string(rank));
    }
  }
  return lanes;
}

}  // namespace lockstep::trace
