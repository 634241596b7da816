#include "tools/commands/import_recipe.hpp"

#include <filesystem>

#include "sim/studies/recipes/import_recipe.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/studies/recipe_report.hpp"
#include "topologies/graph/text_file.hpp"

namespace lockstep::commands {
namespace {

constexpr std::size_t most_bytes = 4 << 20;

std::string text_of(const std::string& file) {
  Problems problems;
  const auto text = topologies::read_text(
      file, [](std::string_view) { return true; }, problems);
  if (text && text->size() > most_bytes) problems.add({{file, 0, 0}, "", "is larger than 4 MiB", "a recipe"});
  problems.throw_if_any();
  return *text;
}

recipes::Variables variables_of(const std::vector<std::string>& given) {
  recipes::Variables variables;
  for (const auto& each : given) {
    const auto equals = each.find('=');
    if (equals == std::string::npos || equals == 0)
      throw ConfigError(
          {{{"--variable", 0, 0}, "", "'" + each + "' has no name and value", "NAME=VALUE, such as TP=8"}});
    variables.emplace_back(each.substr(0, equals), each.substr(equals + 1));
  }
  return variables;
}

/// A file seen from here, as it is seen from the folder of the scenario.
std::string model_seen_from(const std::string& out, const std::string& model) {
  if (out.empty() || (!model.ends_with(".json") && model.find('/') == std::string::npos)) return model;
  const auto folder = std::filesystem::absolute(out).parent_path();
  return std::filesystem::proximate(std::filesystem::absolute(model), folder).generic_string();
}

}  // namespace

std::string RecipeArguments::given() const {
  if (!cluster.empty()) return "--cluster";
  if (!model.empty()) return "--model";
  if (!format.empty()) return "--format";
  if (sequence_length) return "--sequence-length";
  if (!variables.empty()) return "--variable";
  return overrides.empty() ? "" : "--set";
}

void add_recipe_options(Command& command, RecipeArguments& arguments) {
  command.option("--cluster", arguments.cluster,
                 "for a recipe: its machine, such as dgx-h100:8 for 8 nodes (64 chips), or tpu-v5p:4x4x8");
  command.option("--model", arguments.model,
                 "for a recipe: a config.json or a name of lockstep list models instead of the recipe's model");
  command
      .option("--sequence-length", arguments.sequence_length, "for a recipe: tokens of a sequence, instead of its own")
      .between(1, 1'000'000'000);
  command.option("--format", arguments.format,
                 "for a recipe: megatron, torchtitan, deepspeed or maxtext; recognised by content if left out");
  command
      .option("--variable", arguments.variables,
              "for a recipe: a variable that a script takes from its environment, NAME=VALUE (may be repeated)")
      .repeatable();
  command
      .option("--set", arguments.overrides,
              "for a recipe: replace or add a key of the scenario: a.b=c (may be repeated)")
      .repeatable();
}

void import_recipe(const std::string& file, const RecipeArguments& arguments, const std::string& out,
                   const std::string& json) {
  recipes::RecipeRequest request;
  request.file = file;
  request.format = arguments.format;
  request.cluster = arguments.cluster;
  request.model = arguments.model;
  request.sequence_length = arguments.sequence_length;
  request.variables = variables_of(arguments.variables);
  request.set = parse_overrides(arguments.overrides);
  auto recipe = recipes::import_recipe(text_of(file), request);
  if (const auto moved = model_seen_from(out, arguments.model); moved != arguments.model) {
    const auto at = recipe.yaml.find("\nmodel: ");
    const auto end = recipe.yaml.find("  #", at);
    recipe.yaml.replace(at + 8, end - at - 8, moved);
  }
  output::Answer answer;
  answer.write(out, recipe.yaml);
  const auto document = json.empty() ? "" : output::recipe_json(recipe);
  answer.write(json, document);
  if (json == "-") return output::print(document);
  if (out.empty()) return output::print(recipe.yaml);
  answer.print(output::recipe_text(recipe, file));
}

}  // namespace lockstep::commands
