#pragma once
/// A located, strict view of a YAML (or JSON) document: the only user of yaml-cpp.
/// Every getter that meets a wrong value records a Problem at its place and returns a harmless
/// fallback, so that one reading of a file finds all its problems; the caller ends with
/// Problems::throw_if_any(). Duplicate keys, anchors and aliases, unknown keys, bare
/// numbers where a unit is due and octal-looking numbers are problems here, because yaml-cpp accepts them.
/// A view of an absent value answers with the fallback in silence: `require` has already reported it.
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.hpp"
#include "sim/core/units.hpp"

namespace lockstep {

struct YamlNode;  // private to sim/core

class YamlView {
 public:
  /// Reads and parses a file. A missing, unreadable, binary, empty or malformed file is a problem
  /// and gives a view that does not exist(). Files above 4 MiB are refused unread.
  [[nodiscard]] static YamlView from_file(const std::filesystem::path& file, Problems& problems);
  /// Like from_file, for text in memory; `name` replaces the file in locations.
  [[nodiscard]] static YamlView from_text(std::string_view text, std::string_view name, Problems& problems);
  /// Like from_file, but the file must also be strict JSON (a Hugging Face config.json).
  [[nodiscard]] static YamlView from_json_file(const std::filesystem::path& file, Problems& problems);

  YamlView();

  [[nodiscard]] bool exists() const;  ///< false for an absent key or a failed parse
  [[nodiscard]] bool is_null() const;
  [[nodiscard]] bool is_scalar() const;
  [[nodiscard]] bool is_list() const;
  [[nodiscard]] bool is_map() const;
  [[nodiscard]] Location where() const;
  [[nodiscard]] std::string path() const;  ///< dotted key path from the document's root

  /// The child of a map, marked as known; absent children do not exist().
  [[nodiscard]] YamlView operator[](std::string_view key) const;
  /// Like operator[], but an absent child is a problem ("missing; expected ...").
  [[nodiscard]] YamlView require(std::string_view key, std::string_view expected) const;
  [[nodiscard]] std::vector<std::string> keys() const;  ///< of a map, in file order
  [[nodiscard]] std::vector<YamlView> items() const;    ///< of a list; a problem if not a list
  /// Whether both hold the same, wherever it stands; of maps with their keys in the same order.
  [[nodiscard]] bool same_value(const YamlView& other) const;
  /// Problems for all keys of this map that were never asked for, with "did you mean".
  void refuse_unknown_keys() const;
  /// A problem unless this is a map; returns whether it is.
  bool expect_map(std::string_view expected) const;

  [[nodiscard]] std::string text() const;  ///< any scalar as written
  [[nodiscard]] std::int64_t integer(std::int64_t least = 1,
                                     std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
  [[nodiscard]] double number(double least, double most) const;  ///< a plain finite number
  [[nodiscard]] bool boolean() const;
  /// One of the given words; the index in `words`. Problem (with did-you-mean) and 0 otherwise.
  [[nodiscard]] std::size_t choice(const std::vector<std::string>& words) const;

  // Quantities carry their unit in the text: "80 GiB", "400 Gbps", "90 GB/s", "2 us", "989 TFLOP/s".
  // b is bit and B is byte, k M G T P E are powers of 1000, Ki Mi Gi Ti powers of 1024.
  // Non-negative and finite; zero is a problem unless allow_zero.
  [[nodiscard]] Bytes bytes(bool allow_zero = false) const;
  [[nodiscard]] Seconds seconds(bool allow_zero = false) const;
  [[nodiscard]] BytesPerSecond bytes_per_second() const;
  [[nodiscard]] FlopsPerSecond flops_per_second() const;

  /// Records a problem at this place.
  void problem(std::string what, std::string expected) const;

  /// A copy of the document with the value at the dotted path replaced by (or added as) `value`,
  /// itself YAML (for `--set a.b=c`; problems name `--set a.b`). Paths and the answer are the root's.
  [[nodiscard]] YamlView with_override(std::string_view dotted_path, std::string_view value) const;

 private:
  struct Document;
  /// The root of what was parsed; does not exist if nothing was.
  static YamlView of_tree(std::optional<YamlNode> root, const std::string& file, Problems& problems);
  YamlView(std::shared_ptr<const Document> document, const YamlNode* node, std::string path);
  std::shared_ptr<const Document> document_;
  const YamlNode* node_ = nullptr;  // null: does not exist
  std::string path_;
};

}  // namespace lockstep
