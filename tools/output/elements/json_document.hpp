#pragma once
/// The JSON that a command prints or writes.
#include <string>
#include <utility>

#include "tools/output/elements/json_lines.hpp"

namespace lockstep::output {

/// Of the program, such as 0.1.0.
[[nodiscard]] std::string version();

/// Grows when a key of some command's JSON changes its meaning or goes; new keys do not count.
inline constexpr int json_format = 1;

/// A map with `format` and the program's version, `lockstep`, before its own keys.
template <class Json>
[[nodiscard]] std::string json_document(const Json& json, int indent = 2) {
  Json document{{"format", json_format}, {"lockstep", version()}};
  document.update(json);
  return json_lines(document, indent);
}

}  // namespace lockstep::output
