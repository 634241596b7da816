#pragma once
#include <deque>
#include <utility>

namespace lockstep::commands {

/// A value that lives as long as the process. To take a simulation apart piece by piece before the process ends would
/// be a tenth of a short run.
template <class Value>
[[nodiscard]] const Value& kept_to_the_end(Value value) {
  static auto* const kept = new std::deque<Value>;
  return kept->emplace_back(std::move(value));
}

}  // namespace lockstep::commands
