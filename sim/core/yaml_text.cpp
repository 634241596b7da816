#include "sim/core/yaml_text.hpp"

namespace lockstep {
namespace {

/// Whether the text by itself reads as a scalar of that text, as a value of its own and between others.
bool reads_back(const std::string& text) {
  Problems problems;
  const auto alone = YamlView::from_text(text, "", problems),
             listed = YamlView::from_text("[" + text + "]", "", problems);
  if (!alone.is_scalar() || alone.text() != text || !listed.is_list()) return false;
  const auto items = listed.items();
  return items.size() == 1 && items.front().is_scalar() && items.front().text() == text;
}

}  // namespace

std::string in_one_line(const std::string& text) {
  if (!text.empty() && reads_back(text)) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c == '\n' ? std::string("\\n") : c == '\t' ? std::string("\\t") : std::string(1, c);
  }
  return quoted + "\"";
}

std::string in_one_line(const YamlView& view) {
  if (view.is_scalar()) return in_one_line(view.text());
  std::string inside;
  if (view.is_list()) {
    for (const auto& item : view.items()) inside += (inside.empty() ? "" : ", ") + in_one_line(item);
    return "[" + inside + "]";
  }
  if (!view.is_map()) return "null";
  for (const auto& key : view.keys())
    inside += (inside.empty() ? "" : ", ") + in_one_line(key) + ": " + in_one_line(view[key]);
  return "{" + inside + "}";
}

}  // namespace lockstep
