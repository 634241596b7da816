#pragma once
/// A scenario that is written to another folder than the one it was read from.
#include <string>

#include "sim/core/yaml_view.hpp"
#include "tools/commands/given_scenario.hpp"

namespace lockstep::commands {

/// Changes the paths of files in `root`, the document of `given`, so that they are seen from `target`: of a model's
/// config.json, of an order of chips, of a node or a network.
void move_files(YamlView& root, const scenario::Scenario& scenario, const GivenScenario& given,
                const std::string& target);

}  // namespace lockstep::commands
