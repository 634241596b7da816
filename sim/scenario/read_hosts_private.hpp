#pragma once
/// Lists of hosts that a placement names.
#include <filesystem>
#include <vector>

#include "sim/scenario/reading_private.hpp"
#include "topologies/graph/network_graph.hpp"

namespace lockstep::scenario {

/// The hosts of a graph in the order of a list: names one by one, text as Slurm writes it (`gpu[001-064,070]`), or a
/// file, seen from `folder`, with one of these on each line. A host that the graph lacks or that is listed twice is a
/// problem of its own.
[[nodiscard]] std::vector<topologies::HostId> read_hosts(const YamlView& view, const std::filesystem::path& folder,
                                                         const topologies::NetworkGraph& graph, Problems& problems);

}  // namespace lockstep::scenario
