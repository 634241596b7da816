#include "sim/core/yaml_view.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sim/core/yaml_tree_private.hpp"

namespace lockstep {
namespace {

std::string child_path(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + '.' + std::string(key);
}

std::string list_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string kind_of(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null: return "is null";
    case YamlNode::Kind::scalar: return "`" + node.text + "` is a single value";
    case YamlNode::Kind::list: return "is a list";
    case YamlNode::Kind::map: return "is a map";
  }
  return "";
}

bool same(const YamlNode& one, const YamlNode& other) {
  return one.kind == other.kind && one.quoted == other.quoted && one.text == other.text &&
         std::equal(one.items.begin(), one.items.end(), other.items.begin(), other.items.end(), same) &&
         std::equal(one.entries.begin(), one.entries.end(), other.entries.begin(), other.entries.end(),
                    [](const YamlEntry& a, const YamlEntry& b) { return a.key == b.key && same(a.value, b.value); });
}

/// Parses into a document, or gives nothing.
std::optional<YamlNode> parse_checked(std::string_view text, const std::string& file, Problems& problems) {
  if (!check_characters(text, file, problems)) return std::nullopt;
  return parse_yaml(text, file, problems);
}

/// Documents that files held when they were parsed last: who reads many scenarios reads the same entries of the catalog
/// for each. A file is parsed anew when its text has changed.
class ParsedFiles {
 public:
  /// As parse_checked; what had problems is not kept.
  std::optional<YamlNode> parse(const std::string& file, const std::string& text, Problems& problems) {
    auto& known = by_file_[file];
    if (known.root && known.text == text) return known.root;
    auto root = parse_checked(text, file, problems);
    if (by_file_.size() > most) by_file_.clear();
    if (root && text.size() <= longest) by_file_[file] = {text, root};
    return root;
  }

 private:
  static constexpr std::size_t most = 256, longest = 64 * 1024;  // files, and bytes of one
  struct Parsed {
    std::string text;
    std::optional<YamlNode> root;
  };
  std::unordered_map<std::string, Parsed> by_file_;
};

}  // namespace

YamlView::YamlView() = default;

YamlView::YamlView(std::shared_ptr<const Document> document, const YamlNode* node, std::string path)
    : document_(std::move(document)), node_(node), path_(std::move(path)) {}

YamlView YamlView::from_file(const std::filesystem::path& file, Problems& problems) {
  thread_local ParsedFiles parsed;
  const std::optional<std::string> text = read_text_file(file.string(), problems);
  return text ? of_tree(parsed.parse(file.string(), *text, problems), file.string(), problems) : YamlView();
}

YamlView YamlView::from_text(std::string_view text, std::string_view name, Problems& problems) {
  const std::string file(name);
  return of_tree(parse_checked(text, file, problems), file, problems);
}

YamlView YamlView::of_tree(std::optional<YamlNode> root, const std::string& file, Problems& problems) {
  if (!root) return {};
  auto document = std::make_shared<const Document>(Document{*std::move(root), file, &problems});
  const YamlNode* node = &document->root;
  return {std::move(document), node, ""};
}

YamlView YamlView::from_json_file(const std::filesystem::path& file, Problems& problems) {
  const std::string name = file.string();
  const std::optional<std::string> text = read_text_file(name, problems);
  if (!text || !check_characters(*text, name, problems)) return {};
  if (std::all_of(text->begin(), text->end(), [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; })) {
    problems.add({{name, 0, 0}, "", "the file is empty", "a JSON document"});
    return {};
  }
  // Strict JSON reads as YAML, tabs included, which gives every value its place.
  return check_json(*text, name, problems) ? from_text(*text, name, problems) : YamlView();
}

bool YamlView::exists() const { return node_ != nullptr; }
bool YamlView::is_null() const { return exists() && node_->kind == YamlNode::Kind::null; }
bool YamlView::is_scalar() const { return exists() && node_->kind == YamlNode::Kind::scalar; }
bool YamlView::is_list() const { return exists() && node_->kind == YamlNode::Kind::list; }
bool YamlView::is_map() const { return exists() && node_->kind == YamlNode::Kind::map; }

Location YamlView::where() const {
  if (exists()) return node_->where;
  return {document_ ? document_->file : "", 0, 0};
}

std::string YamlView::path() const { return path_; }

void YamlView::problem(std::string what, std::string expected) const {
  if (document_) document_->problems->add({where(), path_, std::move(what), std::move(expected)});
}

bool YamlView::expect_map(std::string_view expected) const {
  if (exists() && !is_map()) problem(kind_of(*node_), std::string(expected));
  return is_map();
}

YamlView YamlView::operator[](std::string_view key) const {
  if (!expect_map("a map")) return {document_, nullptr, child_path(path_, key)};
  node_->asked.emplace_back(key);
  return {document_, node_->find(key), child_path(path_, key)};
}

bool YamlView::same_value(const YamlView& other) const {
  return exists() && other.exists() ? same(*node_, *other.node_) : exists() == other.exists();
}

YamlView YamlView::require(std::string_view key, std::string_view expected) const {
  YamlView child = (*this)[key];
  if (is_map() && !child.exists()) {
    document_->problems->add({where(), child.path_, "missing", std::string(expected)});
  }
  return child;
}

std::vector<std::string> YamlView::keys() const {
  std::vector<std::string> keys;
  if (!expect_map("a map")) return keys;
  for (const YamlEntry& entry : node_->entries) keys.push_back(entry.key);
  return keys;
}

std::vector<YamlView> YamlView::items() const {
  std::vector<YamlView> views;
  if (exists() && !is_list()) problem(kind_of(*node_), "a list");
  if (!is_list()) return views;
  for (std::size_t i = 0; i < node_->items.size(); ++i) {
    views.push_back(YamlView(document_, &node_->items[i], path_ + '[' + std::to_string(i) + ']'));
  }
  return views;
}

void YamlView::refuse_unknown_keys() const {
  if (!expect_map("a map")) return;
  std::vector<std::string> known;  // in the order asked for, each once
  for (const std::string& key : node_->asked) {
    if (std::find(known.begin(), known.end(), key) == known.end()) known.push_back(key);
  }
  for (const YamlEntry& entry : node_->entries) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    std::string expected = did_you_mean(entry.key, known);
    if (expected.empty()) expected = known.empty() ? "no key here" : "one of " + list_of(known);
    document_->problems->add({entry.where, child_path(path_, entry.key), "unknown key", std::move(expected)});
  }
}

}  // namespace lockstep
