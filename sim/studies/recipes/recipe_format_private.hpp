#pragma once
#include <optional>
#include <string_view>

#include "sim/studies/recipes/dialects_private.hpp"
#include "sim/studies/recipes/read_recipe.hpp"

namespace lockstep::recipes {

struct RecipeFormat {
  const Dialect* dialect;
  std::vector<RecipeOption> (*read)(std::string_view, const std::string&, Problems&);  ///< null: a shell script
};
/// The format that a text has; none if it is not a recipe that Lockstep knows.
[[nodiscard]] std::optional<RecipeFormat> format_of(std::string_view text);
/// The reader of a text that is said to be of this dialect.
[[nodiscard]] RecipeFormat format_called(const Dialect& dialect, std::string_view text);

}  // namespace lockstep::recipes
