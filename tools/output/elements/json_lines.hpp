#pragma once
#include <string>

namespace lockstep::output {

/// A JSON file's text. Bytes that are not UTF-8 become U+FFFD, since a file's name may be any bytes.
template <class Json>
[[nodiscard]] std::string json_lines(const Json& json, int indent = 2) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep::output
