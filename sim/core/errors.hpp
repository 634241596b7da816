#pragma once
/// The two kinds of error. ConfigError: the user's input is wrong, all problems at once, exit 2.
/// InternalError: our bug, exit 70. Nothing below tools/ exits, aborts or prints.
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// A place in an input file; line and column count from 1, 0 means "the file as a whole".
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
  [[nodiscard]] std::string to_string() const;  ///< file:line:col, or file alone
};

/// One thing that is wrong. Prints as `file:line:col: key.path: what; expected ...`.
struct Problem {
  Location where;
  std::string key;       ///< dotted key path; empty when the file itself is the problem
  std::string what;      ///< what is wrong
  std::string expected;  ///< what would be right, as a noun phrase; may be or end in a "did you mean"
  [[nodiscard]] std::string to_string() const;
};

class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(std::vector<Problem> problems);
  [[nodiscard]] const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

/// Collects problems so that a user sees all of them at once.
class Problems {
 public:
  void add(Problem problem);
  [[nodiscard]] bool empty() const { return list_.empty(); }
  [[nodiscard]] std::size_t size() const { return list_.size(); }
  [[nodiscard]] const std::vector<Problem>& list() const { return list_; }
  /// Throws ConfigError with everything collected, ordered by place; does nothing if there is none.
  void throw_if_any() const;

 private:
  std::vector<Problem> list_;
};

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// "did you mean `x`" for the candidate nearest to `word` by edit distance, or "" if none is near.
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace lockstep
