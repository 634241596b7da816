#pragma once
/// JSON documents that are long lists of small objects, read one object at a time.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/traces/trace_text.hpp"

namespace lockstep::workloads {

/// One object, flattened: {"a": {"b": 1}} has the field "a.b".
class JsonFields {
 public:
  enum class Kind { null, boolean, number, text, list };
  struct Field {
    std::string key;
    Kind kind = Kind::null;
    std::string text;  ///< of a number or a list as JSON; of a text its content; "true" and "false"
  };

  [[nodiscard]] const Field* find(std::string_view key) const;
  /// The content of a text; "" if there is none.
  [[nodiscard]] std::string_view text(std::string_view key) const;
  /// A whole number, also where it stands between quotes.
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key) const;
  [[nodiscard]] std::optional<double> number(std::string_view key) const;
  [[nodiscard]] std::optional<bool> boolean(std::string_view key) const;
  /// The numbers of a list, or of a text that is one, whatever its nesting.
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key) const;

  void clear() { count_ = 0; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  Field& add();
  [[nodiscard]] std::span<const Field> fields() const { return {fields_.data(), count_}; }

 private:
  std::vector<Field> fields_;  // kept for the next object with the memory of their texts
  std::size_t count_ = 0;
};

/// The numbers in a text such as "[0, 1]".
[[nodiscard]] std::vector<std::int64_t> integers_in(std::string_view text);

struct JsonLists {
  /// Names of lists at the top of the document; "" is the document itself, where it is a list.
  std::vector<std::string_view> names;
  std::function<void(std::string_view list, const JsonFields& item, const Location& where)> each;
  std::function<void(const JsonFields& rest)> rest;  ///< all else at the top, when the document has ended
};

/// Reads one document to its end, or with `sequence` one after the other until the text ends. What is not JSON, ends in
/// the middle, or is nested or filled beyond measure is a ConfigError.
void read_json_lists(TraceText& text, const JsonLists& lists, bool sequence = false);

}  // namespace lockstep::workloads
