#pragma once
/// YAML that is written, on one line.
#include <string>

#include "sim/core/yaml_view.hpp"

namespace lockstep {

/// What stands in a view as YAML in one line that reads back as the same; `null` for what does not exist.
[[nodiscard]] std::string in_one_line(const YamlView& view);
/// The same of a text: in quotes where it would not read back.
[[nodiscard]] std::string in_one_line(const std::string& text);

}  // namespace lockstep
