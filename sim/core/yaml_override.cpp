// `--set a.b=c`: a copy of the document with one value replaced.
#include <utility>

#include "sim/core/yaml_tree_private.hpp"

namespace lockstep {
namespace {

/// A value from the command line is one line; its place is the option.
void place_at_option(YamlNode& node, const std::string& option) {
  node.where = {option, 0, 0};
  for (YamlNode& item : node.items) place_at_option(item, option);
  for (YamlEntry& entry : node.entries) {
    entry.where = {option, 0, 0};
    place_at_option(entry.value, option);
  }
}

std::optional<YamlNode> parse_value(std::string_view text, const std::string& option, Problems& problems) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos || text == "null" || text == "~") return YamlNode{};
  Problems found;
  std::optional<YamlNode> value;
  if (check_characters(text, option, found)) value = parse_yaml(text, option, found);
  for (Problem problem : found.list()) {
    problem.where = {option, 0, 0};
    problems.add(std::move(problem));
  }
  return found.empty() ? std::move(value) : std::nullopt;
}

std::vector<std::string> split_at_dots(std::string_view path) {
  std::vector<std::string> keys;
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t dot = std::min(path.find('.', from), path.size());
    keys.emplace_back(path.substr(from, dot - from));
    from = dot + 1;
  }
  return keys;
}

}  // namespace

YamlView YamlView::with_override(std::string_view dotted_path, std::string_view value) const {
  if (!exists()) return *this;
  const std::string option = "--set " + std::string(dotted_path);
  Problems& problems = *document_->problems;
  const auto refuse = [&](std::string key, std::string what, std::string expected) {
    problems.add({{option, 0, 0}, std::move(key), std::move(what), std::move(expected)});
    return *this;
  };
  const std::vector<std::string> keys = split_at_dots(dotted_path);
  if (keys.size() > yaml_depth_limit) return refuse("", "the key path is too long", "at most 64 keys");

  std::optional<YamlNode> replacement = parse_value(value, option, problems);
  if (!replacement) return *this;
  place_at_option(*replacement, option);

  auto copy = std::make_shared<Document>(*document_);
  YamlNode* node = &copy->root;
  std::string path;
  for (const std::string& key : keys) {
    if (key.empty()) return refuse("", "a key of the path is empty", "keys separated by dots, such as a.b");
    if (node->kind == YamlNode::Kind::null) node->kind = YamlNode::Kind::map;
    if (node->kind != YamlNode::Kind::map) {
      const char* what = node->kind == YamlNode::Kind::list ? "is a list" : "is a single value";
      return refuse(path, std::string(what) + " and holds no key `" + key + "`", "the path of a map");
    }
    path += (path.empty() ? "" : ".") + key;
    if (node->find(key) == nullptr) {
      node->entries.push_back({key, {option, 0, 0}, {}});
      node->entries.back().value.where = {option, 0, 0};
    }
    for (YamlEntry& entry : node->entries) {
      if (entry.key == key) node = &entry.value;
    }
  }
  *node = *std::move(replacement);
  const YamlNode* root = &copy->root;
  return {std::move(copy), root, ""};
}

}  // namespace lockstep
