#pragma once
/// The options of a recipe's file, whatever its syntax.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/errors.hpp"
#include "sim/studies/recipes/recipe_options.hpp"

namespace lockstep::recipes {

/// Values of variables that a shell script takes from its environment.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// `--name value ...`, `--name=value` and `key=value` of the commands of a shell script, or of a text that holds
/// nothing else; of variables, if no command has one. Dashes in place of underscores, without the leading ones. The
/// script is read, never run.
[[nodiscard]] std::vector<RecipeOption> shell_options(std::string_view text, const std::string& file,
                                                      const Variables& variables, Problems& problems);
/// Every value of a YAML or JSON document under its dotted path; lists of words as the values of one option.
[[nodiscard]] std::vector<RecipeOption> yaml_options(std::string_view text, const std::string& file,
                                                     Problems& problems);
/// The same of TOML.
[[nodiscard]] std::vector<RecipeOption> toml_options(std::string_view text, const std::string& file,
                                                     Problems& problems);

}  // namespace lockstep::recipes
