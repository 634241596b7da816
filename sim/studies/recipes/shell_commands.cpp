#include "sim/studies/recipes/shell_commands_private.hpp"

#include <algorithm>

namespace lockstep::recipes {
namespace {

constexpr std::size_t most_blocks = 1000;  // inside each other

/// A block that is open: if, case, loop, function or braces.
struct Block {
  enum class Kind { condition, choice, loop, braces };
  Kind kind;
  bool runs;               ///< its commands are read as the block around it
  bool was_taken = false;  ///< one of its branches was
  bool is_test = false;    ///< between if and then
  bool holds = false;      ///< the test so far
  PlacedText subject{};    ///< of a case
};

class Commands {
 public:
  explicit Commands(ShellText& shell) : shell_(shell) {}

  std::vector<PlacedWords> read() {
    while (!shell_.at_end()) {
      shell_.skip_blanks();
      if (shell_.at_end()) break;
      if (is_end_of_command(shell_.here())) {
        end_of_command();
      } else if (!blocks_.empty() && blocks_.back().kind == Block::Kind::choice && awaits_pattern_) {
        pattern();
      } else {
        command();
      }
    }
    return std::move(commands_);
  }

 private:
  static bool is_end_of_command(char c) {
    return c == '\n' || c == ';' || c == '|' || c == '&' || c == '(' || c == ')';
  }

  [[nodiscard]] bool runs() const {
    return std::all_of(blocks_.begin(), blocks_.end(), [](const auto& block) { return block.runs || block.is_test; });
  }
  [[nodiscard]] bool in_test() const { return !blocks_.empty() && blocks_.back().is_test; }

  void end_of_command() {
    before_ = shell_.starts_with("&&") ? '&' : shell_.starts_with("||") ? '|' : ';';
    if (shell_.starts_with(";;")) awaits_pattern_ = !blocks_.empty() && blocks_.back().kind == Block::Kind::choice;
    shell_.skip(before_ != ';' || shell_.starts_with(";;") ? 2 : 1);
    if (!here_documents_.empty() && shell_.at_end() == false && ended_line()) pass_here_documents();
  }
  [[nodiscard]] bool ended_line() const { return shell_.place(shell_.offset()).column == 1; }

  void pass_here_documents() {
    for (const auto& end : here_documents_) {
      while (!shell_.at_end()) {
        auto line = shell_.rest_of_line();
        shell_.skip(1);
        while (line.starts_with('\t') || line.starts_with(' ')) line.remove_prefix(1);
        if (line == end) break;
      }
    }
    here_documents_.clear();
  }

  void open(Block block) {
    if (blocks_.size() >= most_blocks)
      return shell_.fail(shell_.offset(), "blocks are nested too deeply", "at most 1000 levels");
    blocks_.push_back(std::move(block));
  }
  void close(Block::Kind kind) {
    if (!blocks_.empty() && blocks_.back().kind == kind) blocks_.pop_back();
    awaits_pattern_ = false;
  }

  /// A word that opens or closes a block at the start of a command; false for any other.
  bool keyword(std::string_view word) {
    using Kind = Block::Kind;
    const bool has_block = !blocks_.empty();
    if (word == "if") {
      open({.kind = Kind::condition, .runs = false, .is_test = true});
    } else if (word == "elif" && has_block) {
      blocks_.back().runs = false;
      blocks_.back().is_test = true;
      blocks_.back().holds = false;
    } else if (word == "then" && has_block) {
      auto& block = blocks_.back();
      block.runs = block.holds && !block.was_taken;
      block.was_taken = block.was_taken || block.runs;
      block.is_test = false;
    } else if (word == "else" && has_block) {
      blocks_.back().runs = !blocks_.back().was_taken;
    } else if (word == "fi") {
      close(Kind::condition);
    } else if (word == "while" || word == "until" || word == "for" || word == "select") {
      open({.kind = Kind::loop, .runs = false});
    } else if (word == "done") {
      close(Kind::loop);
    } else if (word == "esac") {
      close(Kind::choice);
    } else if (word == "{") {
      open({.kind = Kind::braces, .runs = true});
    } else if (word == "}") {
      close(Kind::braces);
    } else {
      return word == "do" || word == "!" || word == "time";
    }
    before_ = ';';
    return true;
  }

  void choice() {
    shell_.skip_blanks();
    const auto subject = shell_.word();
    shell_.skip_blanks();
    if (shell_.starts_with("in")) shell_.skip(2);
    open({.kind = Block::Kind::choice, .runs = false, .subject = subject.empty() ? PlacedText{} : subject.front()});
    awaits_pattern_ = true;
  }

  /// The patterns of a branch, up to their bracket.
  void pattern() {
    auto& block = blocks_.back();
    bool fits = false;
    while (!shell_.at_end() && shell_.here() != ')') {
      shell_.skip_blanks();
      const auto before = shell_.offset();
      const auto words = shell_.word();
      for (const auto& word : words) {
        if (word.chars == "esac") return close(Block::Kind::choice);
        fits = fits || word.chars == "*" || word.chars == block.subject.chars;
      }
      if (shell_.offset() == before && shell_.here() != ')') shell_.skip(1);
    }
    shell_.skip(1);
    block.runs = fits && !block.was_taken;
    block.was_taken = block.was_taken || block.runs;
    awaits_pattern_ = false;
  }

  /// NAME=value, NAME+=value or NAME=(words), if one stands here.
  bool assignment() {
    const auto name = std::string(shell_.name_here());
    if (name.empty() || (name.front() >= '0' && name.front() <= '9')) return false;
    const auto begin = shell_.offset();
    shell_.skip(name.size());
    const bool add = shell_.starts_with("+=");
    if (!add && !shell_.starts_with("=")) {
      const bool is_function = shell_.starts_with("()");
      if (is_function) {
        shell_.skip(2);
        shell_.skip_blanks();
        while (shell_.here() == '\n' && !shell_.at_end()) {
          shell_.skip(1);
          shell_.skip_blanks();
        }
        if (shell_.starts_with("{")) {
          shell_.skip(1);
          open({.kind = Block::Kind::braces, .runs = false});
        }
        return true;
      }
      shell_.go_back_to(begin);
      return false;
    }
    shell_.skip(add ? 2 : 1);
    PlacedWords value;
    if (shell_.starts_with("(")) {
      list(value);
    } else {
      value = shell_.word();
    }
    if (runs()) shell_.set(name, std::move(value), add);
    return true;
  }

  void list(PlacedWords& value) {
    const auto begin = shell_.offset();
    shell_.skip(1);
    while (!shell_.at_end()) {
      shell_.skip_blanks();
      if (shell_.at_end()) break;
      if (shell_.here() == ')') return shell_.skip(1);
      const auto before = shell_.offset();
      for (auto& word : shell_.word()) value.push_back(std::move(word));
      if (shell_.offset() == before) shell_.skip(1);
    }
    if (shell_.offset() > begin) shell_.fail(begin, "a list is not closed", ")");
  }

  /// `> file`, `2>&1`, `<<END`.
  void redirection() {
    const bool is_document = shell_.starts_with("<<") && !shell_.starts_with("<<<");
    while (shell_.here() == '<' || shell_.here() == '>' || shell_.here() == '&') {
      if (shell_.at_end()) return;
      shell_.skip(1);
    }
    if (is_document && shell_.here() == '-') shell_.skip(1);
    shell_.skip_blanks();
    const auto words = shell_.word();
    if (is_document && !words.empty()) here_documents_.push_back(words.front().chars);
  }

  void command() {
    PlacedWords words;
    bool may_assign = true;
    while (!shell_.at_end()) {
      shell_.skip_blanks();
      const char c = shell_.here();
      if (shell_.at_end() || (is_end_of_command(c) && !(c == '&' && shell_.starts_with("&>")))) break;
      if (c == '<' || c == '>' || c == '&') {
        redirection();
        continue;
      }
      const auto name = shell_.name_here();
      if (may_assign && words.empty()) {
        const auto first =
            name.empty() ? (c == '{' || c == '}' || c == '!' ? std::string(1, c) : "") : std::string(name);
        const auto before = shell_.offset();
        if (!first.empty() && is_alone(first.size())) {
          if (first == "case") {
            shell_.skip(4);
            return choice();
          }
          if (keyword(first)) {
            shell_.skip(first.size());
            continue;
          }
          if (first == "export" || first == "declare" || first == "local" || first == "readonly") {
            shell_.skip(first.size());
            continue;
          }
        }
        if (assignment()) continue;
        shell_.go_back_to(before);
      }
      const auto before = shell_.offset();
      for (auto& word : shell_.word()) words.push_back(std::move(word));
      if (shell_.offset() == before) shell_.skip(1);
      may_assign = words.empty();
    }
    finished(std::move(words));
  }

  /// Whether a word of this length ends where it ends.
  [[nodiscard]] bool is_alone(std::size_t length) {
    const auto begin = shell_.offset();
    shell_.skip(length);
    const char c = shell_.here();
    const bool alone = c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ';' || c == '(' || c == '\\';
    shell_.go_back_to(begin);
    return alone;
  }

  void finished(PlacedWords words) {
    if (words.empty()) return;
    if (in_test()) {
      auto& block = blocks_.back();
      const bool here = test_holds(words);
      block.holds = before_ == '&' ? block.holds && here : before_ == '|' ? block.holds || here : here;
    } else if (runs()) {
      commands_.push_back(std::move(words));
    }
  }

  ShellText& shell_;
  std::vector<PlacedWords> commands_;
  std::vector<Block> blocks_;
  std::vector<std::string> here_documents_;
  bool awaits_pattern_ = false;
  char before_ = ';';  ///< what stands before this command: & for &&, | for ||
};

}  // namespace

std::vector<PlacedWords> commands_of(ShellText& shell) { return Commands(shell).read(); }

}  // namespace lockstep::recipes
