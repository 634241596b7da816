#pragma once
/// The keys of a scenario that the explorer offers to change, and the overrides that a change means.
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/core/yaml_view.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::explore {

using Json = nlohmann::ordered_json;

/// Ranks along each logical axis, by its name.
using Degrees = std::map<std::string, std::int64_t>;

/// A list of groups with their controls: `key`, `label`, `kind` (number, choice or text), `value`, and `choices` or the
/// smallest number, `least`. Values are the scenario's. `root`: its document.
[[nodiscard]] Json controls_of(const scenario::Scenario& scenario, const Degrees& degrees, const YamlView& root);

/// What `changes`, a map of controls' keys to values, replaces in the scenario. If the chips or a degree change, the
/// axis that takes the rest (data, or fsdp where there is no data axis) takes what is left, and the axes find their own
/// places. Throws ConfigError for a key that is no control, or a value of another type.
[[nodiscard]] std::vector<scenario::KeyOverride> overrides_of(const Json& changes, const scenario::Scenario& scenario,
                                                              const Degrees& degrees, const YamlView& root);

}  // namespace lockstep::explore
