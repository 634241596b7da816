#include "tools/trace/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "sim/core/errors.hpp"

namespace lockstep::trace {

std::int64_t nanoseconds(Seconds time) { return std::llround(time.value() * 1e9); }

Indexed<program::StreamId, TraceLane> lanes_of(const program::Program& program, const timeline::Timeline& timeline,
                                               std::int32_t rank) {
  Indexed<program::StreamId, TraceLane> lanes(program.streams.size());
  for (std::int32_t id = 0; id < timeline.ops(); ++id) {
    if (!timeline.took_part(id, rank)) continue;
    const auto span = timeline.span(id, rank);
    for (const auto stream : program.ops[id].streams) {
      lanes[stream].push_back({nanoseconds(span.start), nanoseconds(span.end), id});
    }
  }
  for (auto& lane : lanes) {
    std::sort(lane.begin(), lane.end(), [](const LaneSpan& a, const LaneSpan& b) {
      return std::tie(a.start_ns, a.end_ns, a.op) < std::tie(b.start_ns, b.end_ns, b.op);
    });
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
