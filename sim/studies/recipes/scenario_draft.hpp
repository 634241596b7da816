#pragma once
/// A scenario while it is put together, with the option behind each of its lines.
#include <string>
#include <string_view>
#include <vector>

#include "sim/studies/recipes/recipe_options.hpp"

namespace lockstep::recipes {

/// An option that no line of the scenario says.
struct LeftOut {
  std::string option;  ///< as the file writes it, with its value
  Location where;
  std::string why;
};

class ScenarioDraft {
 public:
  /// Sets a dotted key to YAML of one line because of an option.
  void set(const std::string& key, const std::string& value, const RecipeOption& because);
  /// The same for a reason that the comment says.
  void set(const std::string& key, const std::string& value, const std::string& because);
  template <class Because>
  void set(const std::string& key, std::int64_t value, const Because& because) {
    set(key, std::to_string(value), because);
  }
  [[nodiscard]] bool has(const std::string& key) const;
  /// What the key was set to, or "".
  [[nodiscard]] std::string value(const std::string& key) const;
  void remove(const std::string& key);  ///< and all keys below it

  void leave_out(const RecipeOption& option, std::string why);

  /// The scenario in lines of `key: value  # option, line`, its blocks in the order of the scenario reference.
  [[nodiscard]] std::string yaml() const;
  /// The problem of a line of yaml(), told of the option behind it.
  [[nodiscard]] Problem told_of_option(const Problem& problem) const;

  struct Line {
    std::string key, value, because;
    std::string option;  ///< empty: none
    Location where;
  };
  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }  ///< in the order in which they were set
  [[nodiscard]] const std::vector<LeftOut>& left_out() const { return left_out_; }

 private:
  void put(Line line);
  std::vector<Line> lines_;
  std::vector<LeftOut> left_out_;
};

}  // namespace lockstep::recipes
