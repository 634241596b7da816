#pragma once
/// The lanes of one rank, recorded and replayed: what each stream did when, and why it stood still.
#include "sim/studies/replay/replay.hpp"
#include "sim/timeline/timeline.hpp"

namespace lockstep::replay {

struct RecordedLanes {
  const workloads::RecordedRank& rank;
  const RankWork& work;
  bool dated = true;
  Seconds later{0};
  Indexed<WorkId, std::int32_t> collective;  ///< row of Replay::collectives; -1: none
  Indexed<WorkId, Seconds> least;            ///< of a collective: the least time of its members
};

struct SimulatedLanes {
  const Indexed<WorkId, program::ProgramOpId>& operations;
  std::int32_t lane = 0;  ///< of the timeline
  const timeline::Timeline& timeline;
};

/// Fills in the streams of `made`, and its spans if they are to be kept.
void fill_lanes(const RecordedLanes& recorded, const SimulatedLanes& simulated, bool keep_spans, ReplayedRank& made);

}  // namespace lockstep::replay
