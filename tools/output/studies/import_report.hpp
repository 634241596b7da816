#pragma once
/// What `lockstep import network` understood of a file, as text of 80 columns and as JSON.
#include <string>

#include "topologies/graph/node_description.hpp"
#include "topologies/graph/read_network.hpp"

namespace lockstep::output {

[[nodiscard]] std::string network_text(const topologies::NetworkImport& import);
[[nodiscard]] std::string network_json(const topologies::NetworkImport& import);
[[nodiscard]] std::string node_text(const topologies::NodeDescription& node);
[[nodiscard]] std::string node_json(const topologies::NodeDescription& node);

}  // namespace lockstep::output
