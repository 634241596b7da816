#pragma once
/// What `lockstep import recipe` made of a file, as text and as JSON.
#include <string>

#include "sim/studies/recipes/import_recipe.hpp"

namespace lockstep::output {

/// One line of counts, then the options without a counterpart, a line each.
[[nodiscard]] std::string recipe_text(const recipes::ImportedRecipe& recipe, const std::string& file);
[[nodiscard]] std::string recipe_json(const recipes::ImportedRecipe& recipe);

}  // namespace lockstep::output
