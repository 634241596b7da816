#pragma once
/// A format of files that describe a node: its row of the table in read_node.cpp.
#include <string>
#include <string_view>

#include "sim/core/errors.hpp"
#include "topologies/graph/node_description.hpp"

namespace lockstep::topologies {

inline constexpr std::size_t most_devices_of_a_node = 4096;

struct NodeFormat {
  std::string_view name;
  std::vector<std::string> makers;  ///< of the GPUs that it describes
  bool (*recognises)(std::string_view head);
  NodeDescription (*read)(std::string_view text, const std::string& file, Problems& problems);
};

}  // namespace lockstep::topologies
