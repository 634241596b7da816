#pragma once
/// A scenario that is written to another folder than the one it was read from.
#include <string>
#include <string_view>

#include "sim/core/yaml_view.hpp"
#include "tools/commands/given_scenario.hpp"

namespace lockstep::commands {

/// A document in one line for each of its keys.
[[nodiscard]] std::string lines_of(const YamlView& root, std::string_view left_out = "");

/// Changes the paths of files in `root`, the document of `given`, so that they are seen from `target`: of a model's
/// config.json, of an order of chips, of a node, a network, a list of hosts or a pipeline's order. Without a target
/// they are whole paths.
void move_files(YamlView& root, const scenario::Scenario& scenario, const GivenScenario& given,
                const std::string& target);

}  // namespace lockstep::commands
