// yaml-cpp's events to our located tree. yaml-cpp's own tree loses duplicate keys and the place of keys.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "sim/core/visible_text.hpp"
#include "sim/core/yaml_tree_private.hpp"

namespace lockstep {
namespace {

/// Ends the parse at once; caught in parse_yaml.
struct Refusal {
  Problem problem;
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& file, Problems& problems) : file_(file), problems_(problems) {}

  [[nodiscard]] YamlNode take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (started_) refuse(mark, "a second document starts here", "one document per file");
    started_ = true;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { finish(node(YamlNode::Kind::null, mark)); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchor(mark); }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuse_anchor(mark); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check(mark, tag, anchor);
    check_characters(mark, value);
    YamlNode scalar = node(YamlNode::Kind::scalar, mark);
    scalar.quoted = tag == "!";  // yaml-cpp's tag for every scalar that is not plain
    scalar.text = value;
    finish(std::move(scalar));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    YamlNode node;
    std::optional<YamlEntry> entry;          // of a map: the key whose value comes next
    std::map<std::string, int> line_of_key;  // of a map: the keys so far
  };

  [[nodiscard]] Location place(const YAML::Mark& mark) const { return {file_, mark.line + 1, mark.column + 1}; }

  [[noreturn]] void refuse(const YAML::Mark& mark, std::string what, std::string expected) const {
    throw Refusal{{place(mark), path(), std::move(what), std::move(expected)}};
  }

  [[noreturn]] void refuse_anchor(const YAML::Mark& mark) const {
    refuse(mark, "anchors and aliases are not supported", "the value written out");
  }

  void check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) const {
    if (anchor != 0) refuse_anchor(mark);
    if (!tag.empty() && tag != "?" && tag != "!") refuse(mark, "tags are not supported", "a value without a tag");
  }

  /// The file holds no characters that steer, but escapes in quotes ("\\e") make them.
  void check_characters(const YAML::Mark& mark, std::string_view text) const {
    for (std::size_t at = 0; at < text.size();) {
      const auto [length, code] = first_character(text.substr(at));
      if (!code) refuse(mark, "is not UTF-8 text", "text in UTF-8");
      if (steers(*code))
        refuse(mark, "has the control character " + code_point(*code), "text that shows what it holds");
      at += length;
    }
  }

  YamlNode node(YamlNode::Kind kind, const YAML::Mark& mark) {
    if (++nodes_ > yaml_node_limit) {
      refuse(mark, "the file has too many values", "at most " + std::to_string(yaml_node_limit) + " values");
    }
    YamlNode fresh;
    fresh.kind = kind;
    fresh.where = place(mark);
    return fresh;
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    check(mark, tag, anchor);
    if (open_.size() >= yaml_depth_limit) {
      refuse(mark, "lists and maps are nested too deeply", "at most " + std::to_string(yaml_depth_limit) + " levels");
    }
    if (expects_key()) refuse(mark, "a list or a map is used as a key", "a word as a key and every bracket closed");
    open_.push_back({node(kind, mark), std::nullopt, {}});
  }

  void close() {
    YamlNode done = std::move(open_.back().node);
    open_.pop_back();
    finish(std::move(done));
  }

  [[nodiscard]] bool expects_key() const {
    return !open_.empty() && open_.back().node.kind == YamlNode::Kind::map && !open_.back().entry;
  }

  /// Gives a complete value to whatever waits for it.
  void finish(YamlNode done) {
    if (open_.empty()) {
      root_ = std::move(done);
    } else if (open_.back().node.kind == YamlNode::Kind::list) {
      open_.back().node.items.push_back(std::move(done));
    } else if (expects_key()) {
      if (done.kind != YamlNode::Kind::scalar) throw Refusal{{done.where, path(), "the key is empty", "a word"}};
      open_.back().entry = YamlEntry{std::move(done.text), std::move(done.where), {}};
    } else {
      add_entry(std::move(done));
    }
  }

  void add_entry(YamlNode value) {
    Frame& frame = open_.back();
    frame.entry->value = std::move(value);
    // yaml-cpp puts an empty value at the next token; its key is where a reader looks.
    if (frame.entry->value.kind == YamlNode::Kind::null) frame.entry->value.where = frame.entry->where;
    const auto [first, is_new] = frame.line_of_key.emplace(frame.entry->key, frame.entry->where.line);
    if (is_new) {
      frame.node.entries.push_back(std::move(*frame.entry));
    } else {
      problems_.add({frame.entry->where, path(), "duplicate key",
                     "each key once, and line " + std::to_string(first->second) + " has it already"});
    }
    frame.entry.reset();
  }

  /// The dotted path of the value being read.
  [[nodiscard]] std::string path() const {
    std::string path;
    for (const Frame& frame : open_) {
      if (frame.node.kind == YamlNode::Kind::list) path += '[' + std::to_string(frame.node.items.size()) + ']';
      if (frame.entry) path += (path.empty() ? "" : ".") + frame.entry->key;
    }
    return path;
  }

  const std::string& file_;
  Problems& problems_;
  std::vector<Frame> open_;
  YamlNode root_;
  int nodes_ = 0;
  bool started_ = false;
};

/// The first tab at the start of one of the first lines. It breaks the parse, but yaml-cpp blames what follows.
std::optional<std::size_t> tab_that_indents(std::string_view text, int lines) {
  for (std::size_t start = 0; lines > 0 && start < text.size(); --lines) {
    const std::size_t letter = std::min(text.find_first_not_of(' ', start), text.size());
    if (letter < text.size() && text[letter] == '\t') return letter;
    start = std::min(text.find('\n', start), text.size() - 1) + 1;
  }
  return std::nullopt;
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const YamlEntry& e) { return e.key == key; });
  return found == entries.end() ? nullptr : &found->value;
}

std::optional<YamlNode> parse_yaml(std::string_view text, const std::string& file, Problems& problems) {
  TreeBuilder builder(file, problems);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    const bool has_document = parser.HandleNextDocument(builder);
    YamlNode root = builder.take_root();
    if (!has_document || root.kind == YamlNode::Kind::null) {
      problems.add({{file, 0, 0}, "", "the file is empty", "a YAML document"});
      return std::nullopt;
    }
    parser.HandleNextDocument(builder);  // refused by the builder if there is one
    return root;
  } catch (const Refusal& refusal) {
    problems.add(refusal.problem);
  } catch (const YAML::Exception& error) {
    const Location where =
        error.mark.is_null() ? Location{file, 0, 0} : Location{file, error.mark.line + 1, error.mark.column + 1};
    if (const auto tab = tab_that_indents(text, where.line)) {
      problems.add({location_of(text, *tab, file), "", "a tab indents this line", "spaces"});
    } else {
      problems.add({where, "", "malformed YAML: " + error.msg, ""});
    }
  }
  return std::nullopt;
}

}  // namespace lockstep
