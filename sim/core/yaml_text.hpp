#pragma once
#include <string>

#include "sim/core/yaml_view.hpp"

namespace lockstep {

/// What stands in a view as YAML in one line that reads back as the same; `null` for what does not exist.
[[nodiscard]] std::string in_one_line(const YamlView& view);

}  // namespace lockstep
