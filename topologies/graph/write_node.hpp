#pragma once
/// A node without links of its own between its GPUs, from a description to the YAML of a scenario's node.
#include <optional>
#include <string>

#include "sim/core/errors.hpp"
#include "topologies/graph/node_description.hpp"

namespace lockstep::topologies {

/// What descriptions leave open.
struct NodeKnowledge {
  std::string chip;                    ///< catalog name of its GPUs
  std::optional<BytesPerSecond> pcie;  ///< of that chip, one way
  std::optional<BytesPerSecond> nic;   ///< one NIC, one way
};

/// Levels of PCIe as they are described; what the file does not say is marked as assumed. Problems are reported at
/// `file`: GPUs with links of their own, GPUs that are not in equal runs below their switches, an unknown rate.
[[nodiscard]] std::string node_yaml(const NodeDescription& node, const NodeKnowledge& known, const std::string& file,
                                    Problems& problems);

}  // namespace lockstep::topologies
