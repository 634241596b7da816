#include "tests/unit/recipes/recipe_files.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/source_dir.hpp"

namespace lockstep::test {

std::vector<std::filesystem::path> recipe_files(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(source_dir) / "tests/data/recipes" / folder))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string recipe_text(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return std::move(text).str();
}

recipes::RecipeRequest request_of(const std::filesystem::path& file) {
  recipes::RecipeRequest request;
  request.file = file.filename().string();
  const auto text = recipe_text(file);
  const std::string begin = "Machine: ";
  const auto at = text.find(begin) + begin.size();
  auto line = text.substr(at, text.find_first_of("\n\"", at) - at);
  const auto options = std::min(line.find(" --"), line.size());
  request.cluster = line.substr(0, options);
  std::istringstream words(line.substr(options));
  for (std::string option, value; words >> option >> value;) {
    if (option == "--model") request.model = value;
    if (option == "--sequence-length") request.sequence_length = std::stoll(value);
    if (option == "--set") request.set.push_back({value.substr(0, value.find('=')), value.substr(value.find('=') + 1)});
  }
  return request;
}

recipes::ImportedRecipe imported(const std::filesystem::path& file) {
  return recipes::import_recipe(recipe_text(file), request_of(file));
}

recipes::ImportedRecipe imported(const std::string& text, const std::string& cluster) {
  recipes::RecipeRequest request;
  request.file = "recipe";
  request.cluster = cluster;
  return recipes::import_recipe(text, request);
}

std::string refusal(const std::string& text, recipes::RecipeRequest request) {
  request.file = "recipe";
  try {
    (void)recipes::import_recipe(text, request);
    return "";
  } catch (const ConfigError& error) {
    std::string lines;
    for (const auto& problem : error.problems()) lines += problem.to_string() + "\n";
    return lines;
  }
}

std::string value_of(const recipes::ImportedRecipe& recipe, const std::string& key) {
  const auto found =
      std::find_if(recipe.lines.begin(), recipe.lines.end(), [&](const auto& line) { return line.key == key; });
  return found == recipe.lines.end() ? "" : found->value;
}

}  // namespace lockstep::test
