#pragma once
/// The options of a recipe, and asking for them.
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.hpp"

namespace lockstep::recipes {

struct RecipeOption {
  std::string name;                 ///< as its dialect knows it: "num-layers", "training.seq_len"
  std::string shown;                ///< as the file writes it: "--num-layers"
  std::vector<std::string> values;  ///< none: a switch
  Location where;

  /// The values as one text.
  [[nodiscard]] std::string text() const;
};

/// What a reader makes of a file. The same option may come several times: the last one counts.
class RecipeOptions {
 public:
  using Names = std::initializer_list<std::string_view>;  ///< of one meaning

  RecipeOptions(std::vector<RecipeOption> options, Problems& problems)
      : options_(std::move(options)), is_read_(options_.size(), false), problems_(&problems) {}

  /// The last option of these names, or null; those before it count as read too.
  const RecipeOption* find(Names names);
  const RecipeOption* find(std::string_view name) { return find(Names{name}); }
  /// A whole number; none, with a problem unless the option is absent or null, if it is not one or out of range.
  std::optional<std::int64_t> number(Names names, std::int64_t least = 1, std::int64_t most = 1'000'000'000'000);
  std::optional<std::int64_t> number(std::string_view name, std::int64_t least = 1) { return number({name}, least); }
  std::optional<double> decimal(Names names);
  std::optional<double> decimal(std::string_view name) { return decimal(Names{name}); }
  /// The value in lower case; none if the option is absent, or "none", "null" or "auto".
  std::optional<std::string> word(Names names);
  std::optional<std::string> word(std::string_view name) { return word(Names{name}); }
  /// The value in lower case, one of these words; none if the option is absent, empty, "none" or "null", and none with
  /// a problem if it is another word.
  std::optional<std::string> one_of(std::string_view name, std::span<const std::string_view> words);
  /// Whether a switch is given, or an option says true.
  bool flag(Names names);
  bool flag(std::string_view name) { return flag(Names{name}); }
  /// As an option says; none if it is absent.
  std::optional<bool> boolean(Names names);

  /// What nobody asked for, as the file has it, each name once.
  [[nodiscard]] std::vector<const RecipeOption*> unread() const;
  void problem(const RecipeOption& option, std::string what, std::string expected);
  /// Where problems go from now on.
  void report_to(Problems& problems) { problems_ = &problems; }

 private:
  std::vector<RecipeOption> options_;
  std::vector<bool> is_read_;
  Problems* problems_;
};

/// 'text'.
[[nodiscard]] std::string in_quotes(std::string_view text);
/// Letters A to Z made small.
[[nodiscard]] std::string in_lower_case(std::string_view text);
/// A whole number, if the text is one and nothing else; `1_000` and `1e3` are 1000, as TOML and Python write it.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text);

}  // namespace lockstep::recipes
