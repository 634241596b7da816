#pragma once
/// Files that describe a network, whatever wrote them, to a NetworkGraph. A format is one file of this folder and one
/// line of the table in network_formats.cpp.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.hpp"
#include "topologies/graph/network_graph.hpp"

namespace lockstep::topologies {

struct NetworkImport {
  NetworkGraph graph;
  std::string format;              ///< "ibnetdiscover"
  std::vector<std::string> notes;  ///< sentences: what was assumed, joined or left out
};

/// Reads a file of any known format. Every host has a cable and reaches every other. What is wrong, such as no known
/// format, a broken line or a network in two parts, is a problem; the graph is then of no use.
[[nodiscard]] NetworkImport read_network(const std::filesystem::path& file, Problems& problems);
/// Like read_network, for text in memory; `file` stands in the problems.
[[nodiscard]] NetworkImport read_network_text(std::string_view text, const std::string& file, Problems& problems);

}  // namespace lockstep::topologies
