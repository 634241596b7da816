#pragma once
/// The located tree behind YamlView. It is plain values, so a copy is a deep copy.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.hpp"
#include "sim/core/yaml_view.hpp"

namespace lockstep {

struct YamlEntry;

struct YamlNode {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  Location where;
  bool quoted = false;             ///< a scalar in quotes or a block scalar: text, never a number
  std::string text;                ///< of a scalar
  std::vector<YamlNode> items;     ///< of a list
  std::vector<YamlEntry> entries;  ///< of a map, in file order
  /// Keys that a reader asked for; what is left over is unknown. Not part of the document's value.
  mutable std::vector<std::string> asked;

  [[nodiscard]] const YamlNode* find(std::string_view key) const;
};

struct YamlEntry {
  std::string key;
  Location where;
  YamlNode value;
};

struct YamlView::Document {
  YamlNode root;
  std::string file;
  Problems* problems;
};

inline constexpr int yaml_depth_limit = 64;
inline constexpr int yaml_node_limit = 100'000;

/// The only document in a text; nothing, with a problem, if there is none or it is malformed.
[[nodiscard]] std::optional<YamlNode> parse_yaml(std::string_view text, const std::string& file, Problems& problems);
/// False, with a problem, unless the text is strict JSON.
[[nodiscard]] bool check_json(std::string_view text, const std::string& file, Problems& problems);
/// The text of a file that is worth parsing; nothing, with a problem, if it is missing, too large or binary.
[[nodiscard]] std::optional<std::string> read_text_file(const std::string& file, Problems& problems);
/// False, with a problem, if the text is not UTF-8 or holds control characters.
[[nodiscard]] bool check_characters(std::string_view text, const std::string& file, Problems& problems);
/// The line and column of a byte of a text.
[[nodiscard]] Location location_of(std::string_view text, std::size_t offset, const std::string& file);

}  // namespace lockstep
