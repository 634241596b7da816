#pragma once
/// Every key that the loader knows, with the values that it takes: for unknown keys, the reference and the JSON Schema.
#include <string_view>
#include <vector>

namespace lockstep::scenario {

/// Kinds of values, which may be joined: a word or a map.
enum class ValueKind : unsigned {
  integer = 1,
  number = 2,
  boolean = 4,
  text = 8,       ///< names of the catalog and paths too
  word = 16,      ///< one of the key's words
  quantity = 32,  ///< a number with a unit
  list = 64,
  map = 128,
};
[[nodiscard]] constexpr ValueKind operator|(ValueKind a, ValueKind b) {
  return static_cast<ValueKind>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
[[nodiscard]] constexpr bool has(ValueKind kinds, ValueKind kind) {
  return (static_cast<unsigned>(kinds) & static_cast<unsigned>(kind)) != 0;
}

struct ScenarioKey {
  std::string_view path;  ///< dotted
  ValueKind kinds;
  std::vector<std::string_view> words = {};  ///< that it takes, where `kinds` has word
};

/// In reading order. Maps whose keys are listed have no other keys.
[[nodiscard]] const std::vector<ScenarioKey>& scenario_key_table();

}  // namespace lockstep::scenario
