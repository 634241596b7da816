#pragma once
/// `lockstep import recipe FILE`.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::commands {

class Command;

struct RecipeArguments {
  std::string cluster, model, format;
  std::optional<std::int32_t> sequence_length;
  std::vector<std::string> variables, overrides;

  /// An option that was given, or "".
  [[nodiscard]] std::string given() const;
};

void add_recipe_options(Command& command, RecipeArguments& arguments);
/// Writes the scenario to `out`, or to stdout if that is empty, and JSON to `json` if that is a file or "-".
void import_recipe(const std::string& file, const RecipeArguments& arguments, const std::string& out,
                   const std::string& json);

}  // namespace lockstep::commands
