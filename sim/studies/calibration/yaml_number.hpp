#pragma once
/// Values as they are written into files that users take over.
#include <cstdio>
#include <string>

namespace lockstep::calibration {

/// Four digits: more than measurements give.
[[nodiscard]] inline std::string yaml_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

[[nodiscard]] inline std::string yaml_quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return quoted + "\"";
}

}  // namespace lockstep::calibration
