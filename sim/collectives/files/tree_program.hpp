#pragma once
/// Broadcast trees as an MSCCL algorithm.
#include <string>

#include "sim/collectives/design/broadcast_trees.hpp"
#include "sim/collectives/files/msccl_program.hpp"

namespace lockstep::collectives::msccl {

/// How the pieces of trees share a connection of two ranks: each tree with a channel of its own, as far as there are
/// channels (TreeUse::trees_of_channel), or all on one channel in an order made for them (design::moves_in_order). The
/// second needs far fewer pieces where a connection has its links to itself; where links are shared, the order of some
/// connections depends on how fast others are.
enum class Channels { of_trees, in_order };

/// An all-gather runs down the trees of `gather`, a reduce-scatter up those of `reduce`, an all-reduce first up and
/// then down. Every tree carries its part of the root's share in `pieces` that follow each other. Each channel
/// of two ranks has a thread block at either end, whose steps are in the order in which a piece can reach them. In
/// place. Throws InternalError
/// for other kinds.
[[nodiscard]] Algorithm tree_program(const design::Design& design, workloads::CollectiveKind kind, int pieces,
                                     std::string name, Channels channels = Channels::of_trees);

/// The file that MSCCL's runtime reads (https://github.com/microsoft/msccl, src/include/msccl.h); read_algorithm reads
/// it back as it was.
[[nodiscard]] std::string to_xml(const Algorithm& algorithm);

}  // namespace lockstep::collectives::msccl
