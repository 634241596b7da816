#pragma once
/// Words of a shell script with the values of its variables. Nothing is executed: what only a run would know (other
/// files, output of commands, arguments) stays as it is written, "$1".
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.hpp"

namespace lockstep::recipes {

inline constexpr std::size_t most_shell_characters = 4 << 20;  // that a script may expand to

/// A text, each character of which knows where in the file it stands.
struct PlacedText {
  std::string chars;
  std::vector<std::uint32_t> at;  ///< offset in the file

  void add(char c, std::size_t place) {
    chars += c;
    at.push_back(static_cast<std::uint32_t>(place));
  }
  void add(const PlacedText& other) {
    chars += other.chars;
    at.insert(at.end(), other.at.begin(), other.at.end());
  }
};
using PlacedWords = std::vector<PlacedText>;

/// The script as it is read from front to back.
class ShellText {
 public:
  ShellText(std::string_view text, const std::string& file, Problems& problems);

  [[nodiscard]] bool at_end() const { return at_ >= text_.size() || failed_; }
  [[nodiscard]] char here() const { return at_end() ? '\n' : text_[at_]; }
  [[nodiscard]] bool starts_with(std::string_view word) const {
    return !at_end() && text_.substr(at_).starts_with(word);
  }
  void skip(std::size_t count) { at_ += count; }
  void go_back_to(std::size_t offset) { at_ = offset; }
  /// Passes blanks, comments and continued lines.
  void skip_blanks();
  /// The rest of this line, which is passed.
  [[nodiscard]] std::string_view rest_of_line();
  /// The letters, digits and underscores here, which are not passed.
  [[nodiscard]] std::string_view name_here() const;

  /// The words up to the end of the next word, without blanks before it: several if it holds a list or unquoted text
  /// with blanks, none if it is empty.
  PlacedWords word();
  void set(const std::string& name, PlacedWords words, bool add);
  void set_outside(const std::string& name, const std::string& value);
  /// Values of all variables, in the order of their first assignment.
  [[nodiscard]] const std::vector<std::pair<std::string, PlacedWords>>& variables() const { return variables_; }

  [[nodiscard]] Location place(std::size_t offset) const;
  [[nodiscard]] std::size_t offset() const { return at_; }
  void fail(std::size_t offset, std::string what, std::string expected);

 private:
  class Word;
  [[nodiscard]] const PlacedWords* value(const std::string& name) const;

  std::string_view text_;
  std::string file_;
  std::vector<std::size_t> line_begins_;
  Problems* problems_;
  std::size_t at_ = 0, made_ = 0;
  bool failed_ = false;
  std::vector<std::pair<std::string, PlacedWords>> variables_;
  std::map<std::string, std::size_t> number_of_;
  std::map<std::string, bool> is_fixed_;  ///< given from outside: the script does not change it
};

/// The value of an expression of whole numbers, + - * / % and brackets; none if it is anything else.
[[nodiscard]] bool evaluate(std::string_view expression, std::int64_t& value);

}  // namespace lockstep::recipes
