#pragma once
/// Files that describe the inside of a node: NCCL's topology XML (NCCL_TOPO_DUMP_FILE) and `nvidia-smi topo -m`.
#include <filesystem>
#include <string>
#include <string_view>

#include "sim/core/errors.hpp"
#include "topologies/graph/node_description.hpp"

namespace lockstep::topologies {

/// Whether a file that begins like this describes a node.
[[nodiscard]] bool describes_a_node(std::string_view head);
/// Reads such a text; what is wrong is a problem.
[[nodiscard]] NodeDescription read_node_text(std::string_view text, const std::string& file, Problems& problems);

}  // namespace lockstep::topologies
