#include "tests/docs/json_page.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace lockstep::test {
namespace {

/// As GitHub makes it of a heading.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-')
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (c == ' ')
      anchor += '-';
  }
  return anchor;
}

JsonPath path_of(const std::string& text) {
  JsonPath path;
  std::istringstream stream(text);
  for (std::string name; std::getline(stream, name, '.');) {
    int lists = 0;
    for (; name.ends_with("[]"); ++lists) name.resize(name.size() - 2);
    path.push_back({name, lists});
  }
  return path;
}

/// The anchors of the links behind "the keys of".
std::vector<std::string> sections_in(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  std::vector<std::string> anchors;
  auto at = text.find("the keys of [");
  while (at != std::string::npos && (at = text.find("](#", at)) != std::string::npos) {
    const auto end = text.find(')', at);
    anchors.push_back(text.substr(at + 3, end - at - 3));
    at = end;
  }
  return anchors;
}

}  // namespace

std::string text_of(const JsonPath& path) {
  std::string text;
  for (const auto& step : path) {
    text += (text.empty() ? "" : ".") + step.name;
    for (int i = 0; i < step.lists; ++i) text += "[]";
  }
  return text;
}

bool DocumentedKey::names(const JsonPath& printed) const {
  return std::equal(path.begin(), path.end(), printed.begin(), printed.end(),
                    [](const JsonStep& page, const JsonStep& key) {
                      return (page.name == key.name || page.name.starts_with('<')) &&
                             (key.lists == any_lists || page.lists == key.lists);
                    });
}

JsonPage::JsonPage(const std::string& text) {
  std::istringstream stream(text);
  std::vector<Row>* section = nullptr;
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line.starts_with("## ") || line.starts_with("### ")) {
      section = &sections_[anchor_of(line.substr(line.find(' ') + 1))];
    } else if (section != nullptr && line.starts_with("| `")) {
      section->push_back({{path_of(line.substr(3, line.find('`', 3) - 3)), number}, sections_in(line)});
    } else if (section != nullptr && !sections_in(line).empty()) {
      section->push_back({{{}, number}, sections_in(line)});
    }
  }
}

std::vector<DocumentedKey> JsonPage::keys_of(const std::string& heading) const {
  std::vector<DocumentedKey> keys;
  add_keys(anchor_of(heading), {}, keys);
  return keys;
}

void JsonPage::add_keys(const std::string& anchor, const JsonPath& below, std::vector<DocumentedKey>& keys) const {
  const auto section = sections_.find(anchor);
  if (section == sections_.end()) return;
  for (const auto& row : section->second) {
    auto path = below;
    path.insert(path.end(), row.key.path.begin(), row.key.path.end());
    if (!row.key.path.empty()) keys.push_back({path, row.key.line});
    for (const auto& other : row.sections) add_keys(other, path, keys);
  }
}

std::vector<DocumentedKey> JsonPage::rows() const {
  std::vector<DocumentedKey> keys;
  for (const auto& [anchor, rows] : sections_) {
    for (const auto& row : rows) {
      if (!row.key.path.empty()) keys.push_back(row.key);
    }
  }
  std::sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.line < b.line; });
  return keys;
}

}  // namespace lockstep::test
