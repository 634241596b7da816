#include "tools/output/studies/recipe_report.hpp"

#include <nlohmann/json.hpp>

#include "sim/core/visible_text.hpp"
#include "tools/output/elements/json_document.hpp"

namespace lockstep::output {

std::string recipe_text(const recipes::ImportedRecipe& recipe, const std::string& file) {
  std::string text = visible(file) + ": " + recipe.title + "; " + std::to_string(recipe.lines.size()) +
                     " lines of a scenario, " + std::to_string(recipe.left_out.size()) +
                     " options without a counterpart, " + std::to_string(recipe.without_influence) +
                     " without influence on time and memory\n";
  for (const auto& left : recipe.left_out)
    text += "- " + visible(left.option) + ", line " + std::to_string(left.where.line) + ": " + visible(left.why) + "\n";
  return text;
}

std::string recipe_json(const recipes::ImportedRecipe& recipe) {
  using Json = nlohmann::ordered_json;
  Json lines = Json::array(), left_out = Json::array();
  for (const auto& line : recipe.lines) {
    Json each{{"key", line.key}, {"value", line.value}, {"because", line.because}};
    if (!line.option.empty()) each["line"] = line.where.line;
    lines.push_back(std::move(each));
  }
  for (const auto& left : recipe.left_out)
    left_out.push_back({{"option", left.option}, {"line", left.where.line}, {"why", left.why}});
  const Json all{{"file_format", recipe.title},
                 {"scenario", recipe.yaml},
                 {"lines", lines},
                 {"without_counterpart", left_out},
                 {"without_influence", recipe.without_influence}};
  return json_document(all);
}

}  // namespace lockstep::output
