#pragma once
#include <string>

namespace lockstep {

/// A JSON file's text. What is not UTF-8 becomes U+FFFD: a name of a file may be any bytes.
template <class Json>
[[nodiscard]] std::string json_lines(const Json& json, int indent = 2) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep
