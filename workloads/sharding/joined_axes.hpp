#pragma once
#include <string>
#include <string_view>

#include "workloads/sharding/notation.hpp"

namespace lockstep::workloads {

/// "fsdp+tensor".
[[nodiscard]] inline std::string joined(const AxisNames& axes, std::string_view separator = "+") {
  std::string text;
  for (const auto& axis : axes) {
    if (!text.empty()) text += separator;
    text += axis;
  }
  return text;
}

}  // namespace lockstep::workloads
