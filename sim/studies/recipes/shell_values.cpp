#include <algorithm>
#include <cctype>
#include <optional>

#include "sim/studies/recipes/shell_values_private.hpp"

namespace lockstep::recipes {
namespace {

constexpr int deepest = 50;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool ends_word(char c) {
  return is_blank(c) || c == ';' || c == '|' || c == '&' || c == '<' || c == '>' || c == '(' || c == ')';
}

}  // namespace

/// One word and what it expands to.
class ShellText::Word {
 public:
  explicit Word(ShellText& shell) : shell_(shell) {}

  PlacedWords read() {
    while (!shell_.at_end() && !ends_word(shell_.here())) part(false, 0);
    finish();
    return std::move(words_);
  }

 private:
  [[nodiscard]] std::string_view rest() const { return shell_.text_.substr(std::min(shell_.at_, shell_.text_.size())); }

  void literal(char c, std::size_t at) {
    if (++shell_.made_ > most_shell_characters)
      return shell_.fail(at, "the script expands to more than 4 MiB", "a recipe");
    current_.add(c, at);
    is_open_ = true;
  }
  void literal(std::string_view text, std::size_t at) {
    for (std::size_t i = 0; i < text.size(); ++i) literal(text[i], at + i);
  }
  void finish() {
    if (is_open_) words_.push_back(std::move(current_));
    current_ = {};
    is_open_ = false;
  }

  /// One character, quoted text or value.
  void part(bool quoted, int depth) {
    const char c = shell_.here();
    if (c == '\\') {
      if (shell_.starts_with("\\\n")) return shell_.skip(2);
      if (shell_.starts_with("\\\r\n")) return shell_.skip(3);
      shell_.skip(1);
      if (!shell_.at_end()) literal(shell_.here(), shell_.at_);
      shell_.skip(1);
    } else if (c == '\'' && !quoted) {
      const auto end = shell_.text_.find('\'', shell_.at_ + 1);
      if (end == std::string_view::npos) return shell_.fail(shell_.at_, "a quote is not closed", "'");
      is_open_ = true;
      literal(shell_.text_.substr(shell_.at_ + 1, end - shell_.at_ - 1), shell_.at_ + 1);
      shell_.at_ = end + 1;
    } else if (c == '"' && !quoted) {
      const auto begin = shell_.at_;
      shell_.skip(1);
      is_open_ = true;
      while (!shell_.at_end() && shell_.here() != '"') part(true, depth);
      if (shell_.at_end()) return shell_.fail(begin, "a quote is not closed", "\"");
      shell_.skip(1);
    } else if (c == '$' || c == '`') {
      value_here(quoted, depth);
    } else {
      literal(c, shell_.at_);
      shell_.skip(1);
    }
  }

  /// The position behind the bracket that closes the one here; none if none does.
  [[nodiscard]] std::optional<std::size_t> behind(char open, char close) const {
    int depth = 0;
    for (std::size_t at = shell_.at_; at < shell_.text_.size(); ++at) {
      if (shell_.text_[at] == open) ++depth;
      if (shell_.text_[at] == close && --depth == 0) return at + 1;
    }
    return std::nullopt;
  }

  /// Text that only a run would know, as it is written.
  void unknown(std::size_t begin, std::size_t end) {
    literal(shell_.text_.substr(begin, end - begin), begin);
    shell_.at_ = end;
  }

  void value_here(bool quoted, int depth) {
    const auto begin = shell_.at_;
    if (depth > deepest) return shell_.fail(begin, "values are nested too deeply", "at most 50 levels");
    if (shell_.here() == '`') {
      const auto end = shell_.text_.find('`', begin + 1);
      return unknown(begin, end == std::string_view::npos ? shell_.text_.size() : end + 1);
    }
    shell_.skip(1);
    if (shell_.starts_with("((")) return arithmetic(begin, depth);
    if (shell_.starts_with("(")) return unknown(begin, behind('(', ')').value_or(shell_.text_.size()));
    if (shell_.starts_with("{")) return braced(begin, quoted, depth);
    const auto name = std::string(shell_.name_here());
    if (name.empty()) return unknown(begin, std::min(begin + 2, shell_.text_.size()));
    shell_.skip(name.size());
    expand(name, begin, quoted);
  }

  void arithmetic(std::size_t begin, int depth) {
    const auto end = behind('(', ')').value_or(shell_.text_.size());
    const auto inside_begin = std::min(begin + 3, end);
    const auto inside = shell_.text_.substr(inside_begin, end - inside_begin < 2 ? 0 : end - inside_begin - 2);
    std::string expression;
    for (std::size_t i = 0; i < inside.size();) {
      if (inside[i] == '$' || inside[i] == '{' || inside[i] == '}') {
        ++i;
      } else if (std::isalpha(static_cast<unsigned char>(inside[i])) != 0 || inside[i] == '_') {
        auto to = i;
        while (to < inside.size() && is_name(inside[to])) ++to;
        const auto* known = shell_.value(std::string(inside.substr(i, to - i)));
        expression += known == nullptr || known->empty() ? "?" : known->front().chars;
        if (expression.size() > inside.size() + 4096) break;  // no number
        i = to;
      } else {
        expression += inside[i++];
      }
    }
    std::int64_t value = 0;
    if (depth > deepest || !evaluate(expression, value)) return unknown(begin, end);
    for (const char c : std::to_string(value)) literal(c, begin);
    shell_.at_ = end;
  }

  /// ${NAME}, ${NAME[@]}, ${NAME:-otherwise} and the like.
  void braced(std::size_t begin, bool quoted, int depth) {
    const auto end = behind('{', '}');
    if (!end) return shell_.fail(begin, "a brace is not closed", "}");
    shell_.skip(1);
    const auto name = std::string(shell_.name_here());
    shell_.skip(name.size());
    if (shell_.starts_with("[@]") || shell_.starts_with("[*]")) shell_.skip(3);
    if (shell_.at_ + 1 == *end) {
      shell_.at_ = *end;
      return expand(name, begin, quoted);
    }
    const bool colon = shell_.starts_with(":");
    shell_.skip(colon ? 1 : 0);
    const char kind = shell_.here();
    const auto* known = shell_.value(name);
    const bool is_set = known != nullptr && (!colon || (!known->empty() && !known->front().chars.empty()));
    if (name.empty() || (kind != '-' && kind != '=' && kind != '+')) return unknown(begin, *end);
    shell_.skip(1);
    if ((kind == '+') == is_set) {  // the word behind the sign
      const auto first = words_.size();
      while (!shell_.at_end() && shell_.at_ + 1 < *end) part(quoted, depth + 1);
      if (kind == '=' && words_.size() == first) shell_.set(name, {current_}, false);
      shell_.at_ = *end;
    } else {
      shell_.at_ = *end;
      if (kind != '+') expand(name, begin, quoted);
    }
  }

  void expand(const std::string& name, std::size_t begin, bool quoted) {
    const auto* known = shell_.value(name);
    if (known == nullptr) return unknown(begin, shell_.at_);
    bool is_first = true;
    for (const auto& word : *known) {
      if (!is_first) finish();
      is_first = false;
      for (std::size_t i = 0; i < word.chars.size() && !shell_.failed_; ++i) {
        if (!quoted && is_blank(word.chars[i]))
          finish();
        else
          literal(word.chars[i], word.at[i]);
      }
      if (quoted) is_open_ = true;
    }
  }

  ShellText& shell_;
  PlacedWords words_;
  PlacedText current_;
  bool is_open_ = false;
};

ShellText::ShellText(std::string_view text, const std::string& file, Problems& problems)
    : text_(text), file_(file), line_begins_{0}, problems_(&problems) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n') line_begins_.push_back(at + 1);
  }
}

void ShellText::skip_blanks() {
  while (!at_end()) {
    if (here() == ' ' || here() == '\t' || here() == '\r') {
      skip(1);
    } else if (starts_with("\\\n")) {
      skip(2);
    } else if (starts_with("\\\r\n")) {
      skip(3);
    } else if (here() == '#') {
      const auto end = text_.find('\n', at_);
      at_ = end == std::string_view::npos ? text_.size() : end;
    } else {
      return;
    }
  }
}

std::string_view ShellText::rest_of_line() {
  const auto end = std::min(text_.find('\n', at_), text_.size());
  const auto line = text_.substr(at_, end - at_);
  at_ = end;
  return line;
}

std::string_view ShellText::name_here() const {
  auto end = std::min(at_, text_.size());
  while (end < text_.size() && is_name(text_[end])) ++end;
  return text_.substr(std::min(at_, text_.size()), end - std::min(at_, text_.size()));
}

PlacedWords ShellText::word() { return Word(*this).read(); }

const PlacedWords* ShellText::value(const std::string& name) const {
  const auto found = number_of_.find(name);
  return found == number_of_.end() ? nullptr : &variables_[found->second].second;
}

void ShellText::set(const std::string& name, PlacedWords words, bool add) {
  if (is_fixed_.contains(name)) return;
  const auto [found, is_new] = number_of_.try_emplace(name, variables_.size());
  if (is_new) variables_.emplace_back(name, PlacedWords{});
  auto& value = variables_[found->second].second;
  if (!add) value.clear();
  for (auto& word : words) {
    made_ += word.chars.size();
    value.push_back(std::move(word));
  }
  if (made_ > most_shell_characters) fail(at_, "the script expands to more than 4 MiB", "a recipe");
}

void ShellText::set_outside(const std::string& name, const std::string& value) {
  PlacedText text;
  for (const char c : value) text.add(c, 0);
  set(name, {text}, false);
  is_fixed_[name] = true;
}

Location ShellText::place(std::size_t offset) const {
  const auto above = std::upper_bound(line_begins_.begin(), line_begins_.end(), offset);
  const auto line = above - line_begins_.begin();
  return {file_, static_cast<int>(line), static_cast<int>(offset - *(above - 1)) + 1};
}

void ShellText::fail(std::size_t offset, std::string what, std::string expected) {
  if (!failed_) problems_->add({place(offset), "", std::move(what), std::move(expected)});
  failed_ = true;
}

}  // namespace lockstep::recipes
