#include <algorithm>

#include "sim/core/yaml_text.hpp"
#include "sim/core/yaml_view.hpp"
#include "sim/studies/recipes/read_recipe.hpp"

namespace lockstep::recipes {
namespace {

void collect(const YamlView& view, const std::string& path, std::vector<RecipeOption>& options) {
  if (view.is_map()) {
    for (const auto& key : view.keys()) collect(view[key], path.empty() ? key : path + "." + key, options);
    return;
  }
  RecipeOption option{path, path, {}, view.where()};
  if (view.is_list()) {
    for (const auto& item : view.items()) option.values.push_back(item.is_scalar() ? item.text() : in_one_line(item));
    if (option.values.empty()) option.values.emplace_back("[]");
  } else {
    option.values.push_back(view.is_null() ? "null" : view.text());
  }
  options.push_back(std::move(option));
}

}  // namespace

std::vector<RecipeOption> yaml_options(std::string_view text, const std::string& file, Problems& problems) {
  std::vector<RecipeOption> options;
  const auto view = YamlView::from_text(text, file, problems);
  if (view.exists() && view.expect_map("a recipe: options and their values")) collect(view, "", options);
  return options;
}

}  // namespace lockstep::recipes
