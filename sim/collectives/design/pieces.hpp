#pragma once
/// Into how many pieces the data of a tree are cut, which follow each other down the tree.
#include "sim/collectives/design/broadcast_trees.hpp"
#include "sim/core/units.hpp"

namespace lockstep::collectives::design {

/// Trees that share an arc are dealt over its channels, which work beside each other. With C pieces, and n trees on a
/// channel of the busiest arc, that channel makes C n steps, one after the other; the last piece has D - 1 more to go
/// down a tree of depth D. Each step has a latency and moves its part of the bytes:
///   T = (C n + D - 1) (step + bytes / (C n)).
struct Pieces {
  int count = 1;
  Seconds latencies{0};       ///< of all these steps
  Seconds filling{0};         ///< the part of (D - 1) steps that moves bytes, while other arcs wait
  bool is_cut_short = false;  ///< more would take less
};

/// The number of pieces for which T is least, up to what a program can hold (most_steps). `of_channel`: n; `step`: the
/// latency of a step; `bytes`: how long the busiest link takes for all bytes; `chunks`: one of each tree on each
/// member.
[[nodiscard]] Pieces pieces_of(const TreeUse& use, int of_channel, std::int64_t chunks, Seconds step, Seconds bytes);

/// Steps of a program, which is some seconds of simulation.
inline constexpr int most_steps = 250'000;

}  // namespace lockstep::collectives::design
