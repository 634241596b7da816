#pragma once
/// One rank's simulated time, cut wherever an operation begins or ends.
#include <cstdint>
#include <vector>

#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"

namespace lockstep::metrics {

struct Piece {
  double start, length;  ///< in simulated time; it stands for as much of the step as Repetition::in_step says
  bool computing;
  /// The communication that started first among those in flight, or -1. A compute operation stands for the collective
  /// for which hosts hold its chip (ProgramOp::held_for).
  std::int32_t first;
};

/// In order; together they are the makespan, with nothing going on after the rank's last operation.
struct RankPieces {
  RankPieces(const program::Program& program, const timeline::Timeline& timeline, std::int32_t of_rank);
  std::int32_t rank;
  std::vector<Piece> pieces;
};

}  // namespace lockstep::metrics
