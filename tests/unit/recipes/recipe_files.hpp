#pragma once
/// The recipes under tests/data/recipes, imported with the options that their "Machine:" lines say.
#include <filesystem>
#include <string>
#include <vector>

#include "sim/studies/recipes/import_recipe.hpp"

namespace lockstep::test {

/// The files of one folder of tests/data/recipes, sorted.
[[nodiscard]] std::vector<std::filesystem::path> recipe_files(const std::string& folder);
[[nodiscard]] std::string recipe_text(const std::filesystem::path& file);
[[nodiscard]] recipes::RecipeRequest request_of(const std::filesystem::path& file);
[[nodiscard]] recipes::ImportedRecipe imported(const std::filesystem::path& file);
/// A text imported for a machine.
[[nodiscard]] recipes::ImportedRecipe imported(const std::string& text, const std::string& cluster);
/// What a text is refused with, a line for each problem; empty if it is not.
[[nodiscard]] std::string refusal(const std::string& text, recipes::RecipeRequest request);

/// What a line of the scenario says; "" if there is none.
[[nodiscard]] std::string value_of(const recipes::ImportedRecipe& recipe, const std::string& key);

}  // namespace lockstep::test
