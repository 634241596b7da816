#pragma once
/// A training recipe of another program as a scenario, and what of it has no counterpart.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/studies/recipes/read_recipe.hpp"
#include "sim/studies/recipes/scenario_draft.hpp"

namespace lockstep::recipes {

struct RecipeRequest {
  std::string file;     ///< as problems name it
  std::string format;   ///< of format_names(); empty: recognised by content
  std::string cluster;  ///< of the scenario: shorthand, or a map in one line
  std::string model;  ///< takes the place of the recipe's: a name of the catalog or a config.json; empty: the recipe's
  std::optional<std::int64_t> sequence_length;
  Variables variables;                     ///< of a shell script's environment
  std::vector<scenario::KeyOverride> set;  ///< keys of the scenario, which win
};

struct ImportedRecipe {
  std::string title;  ///< of the format
  std::string yaml;   ///< a whole scenario, with comments
  std::vector<ScenarioDraft::Line> lines;
  std::vector<LeftOut> left_out;
  std::int64_t without_influence = 0;  ///< options that change neither time nor memory
};

/// Names of the formats: megatron, torchtitan, deepspeed, maxtext.
[[nodiscard]] std::vector<std::string> format_names();

/// The scenario of a recipe's text, which loads and whose degrees fit its machine. Throws ConfigError, with the place
/// in the recipe of each problem.
[[nodiscard]] ImportedRecipe import_recipe(std::string_view text, const RecipeRequest& request);

}  // namespace lockstep::recipes
