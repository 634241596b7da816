#pragma once
/// One rank's spans by stream, in whole nanoseconds: what viewers can tell apart.
#include <cstdint>
#include <vector>

#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"

namespace lockstep::trace {

struct LaneSpan {
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::int32_t op;        ///< of the program
  std::int64_t copy = 0;  ///< of the period that repeats (timeline::Repetition)
};

/// In order of time; spans of one lane touch at most (rounding keeps order). An operation on several streams
/// has a span on each.
using TraceLane = std::vector<LaneSpan>;

[[nodiscard]] std::int64_t nanoseconds(Seconds time);
/// The lanes of a rank, by stream. Throws InternalError if two spans of a lane overlap.
[[nodiscard]] Indexed<program::StreamId, TraceLane> lanes_of(const program::Program& program,
                                                             const timeline::Timeline& timeline, std::int32_t rank);

}  // namespace lockstep::trace
