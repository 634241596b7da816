#pragma once
/// Broadcast trees as an MSCCL algorithm.
#include <string>

#include "sim/collectives/design/broadcast_trees.hpp"
#include "sim/collectives/files/msccl_program.hpp"

namespace lockstep::collectives::msccl {

/// An all-gather runs down the trees of `gather`, a reduce-scatter up those of `reduce`, an all-reduce first up and
/// then down. Every tree carries its part of the root's share in `pieces` that follow each other. Each connection of
/// two ranks has channels for its trees (BroadcastTrees::trees_of_channel), and each channel a thread block at either
/// end, whose steps are in the order in which a piece can reach them at the earliest. In place. Throws InternalError
/// for other kinds.
[[nodiscard]] Algorithm tree_program(const design::Design& design, workloads::CollectiveKind kind, int pieces,
                                     std::string name);

/// The file that MSCCL's runtime reads (https://github.com/microsoft/msccl, src/include/msccl.h); read_algorithm reads
/// it back as it was.
[[nodiscard]] std::string to_xml(const Algorithm& algorithm);

}  // namespace lockstep::collectives::msccl
