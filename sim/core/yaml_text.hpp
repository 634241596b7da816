#pragma once
/// YAML that is written, on one line.
#include <string>

#include "sim/core/yaml_view.hpp"

namespace lockstep {

/// The content of a view as one line of YAML that reads back as the same; `null` if it does not exist.
[[nodiscard]] std::string in_one_line(const YamlView& view);
/// The same for a text, in quotes if it would not read back as the same text.
[[nodiscard]] std::string in_one_line(const std::string& text);

}  // namespace lockstep
