#pragma once
/// The machine of a scenario as keys of a cluster that can be varied one by one, and the networks that a buyer of such
/// a machine looks at first.
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::design_networks {

/// Keys that write the scenario's cluster as maps: of a shorthand and of names of the catalog. `document` is the
/// scenario's file.
[[nodiscard]] std::vector<scenario::KeyOverride> as_maps(const YamlView& document, const scenario::Scenario& scenario);

/// Nodes: fat trees, joined rails and separate rails with 1 to 8 times less bandwidth above the leaves, and with all,
/// half and a quarter of the NICs. A torus: every shape with as many chips that its pod has, twisted or not. As a file
/// with the axes of a sweep. Throws ConfigError for machines that have no usual networks.
[[nodiscard]] std::string usual_networks(const scenario::Scenario& scenario);

}  // namespace lockstep::design_networks
