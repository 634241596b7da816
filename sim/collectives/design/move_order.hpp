#pragma once
/// In which order the data of trees go over arcs that carry one piece after the other.
#include <cstdint>
#include <vector>

#include "sim/collectives/design/broadcast_trees.hpp"

namespace lockstep::collectives::design {

/// Trees of a root whose data go the same way: up a tree to the root, down a tree from it, or first up and then down.
struct Strand {
  int root;
  int first, count;  ///< of the root's trees
  const BroadcastTree *up = nullptr, *down = nullptr;
};

/// The trees of a design for one pass or both, whose numbers of trees by root are then the same. A strand has at most
/// 72 trees, as many chunks as MSCCL sends at once.
[[nodiscard]] std::vector<Strand> strands_of(const Design& design, bool up, bool down);

/// A piece of a strand's data on an arc.
struct StrandMove {
  std::int32_t strand, piece;
  bool up;  ///< towards the root, to be added up
  int from, to;
};

/// All moves of `pieces` that follow each other, in the order in which they start if every arc takes them one after the
/// other: of those that could start, the one that the data wait for most, and all arcs are busy equally long.
[[nodiscard]] std::vector<StrandMove> moves_in_order(const std::vector<Strand>& strands, int pieces);

}  // namespace lockstep::collectives::design
