#pragma once
/// The keys of docs/json.md, section by section.
#include <map>
#include <string>
#include <vector>

namespace lockstep::test {

/// A key and the lists around its value: `comm[]` is {"comm", 1}.
struct JsonStep {
  std::string name;  ///< on the page also "<switch>": any key
  int lists = 0;     ///< of a printed null: any_lists
  auto operator<=>(const JsonStep&) const = default;
};
inline constexpr int any_lists = -1;
using JsonPath = std::vector<JsonStep>;
[[nodiscard]] std::string text_of(const JsonPath& path);

struct DocumentedKey {
  JsonPath path;
  int line = 0;  ///< of the page, from 1
  [[nodiscard]] bool names(const JsonPath& printed) const;
};

/// Rows of tables begin with a path in backticks. A row or a paragraph with "the keys of [Title](#title)" takes over
/// the rows of other sections, below its own path.
class JsonPage {
 public:
  explicit JsonPage(const std::string& text);
  /// Of the section with this heading and of those that it refers to; none if there is no such section.
  [[nodiscard]] std::vector<DocumentedKey> keys_of(const std::string& heading) const;
  [[nodiscard]] std::vector<DocumentedKey> rows() const;  ///< all rows, each once and without what it refers to

 private:
  struct Row {
    DocumentedKey key;                  ///< without a path: a paragraph
    std::vector<std::string> sections;  ///< referred to, by anchor
  };
  std::map<std::string, std::vector<Row>> sections_;  ///< by anchor
  void add_keys(const std::string& anchor, const JsonPath& below, std::vector<DocumentedKey>& keys) const;
};

}  // namespace lockstep::test
