#include "sim/studies/recipes/import_recipe.hpp"

#include <algorithm>
#include <array>

#include "sim/core/visible_text.hpp"
#include "sim/core/yaml_text.hpp"
#include "sim/preparation/preparation.hpp"
#include "sim/studies/recipes/recipe_format_private.hpp"

namespace lockstep::recipes {
namespace {

constexpr std::array<const Dialect*, 4> dialects{&megatron, &torchtitan, &deepspeed, &maxtext};

RecipeFormat wanted_format(std::string_view text, const RecipeRequest& request) {
  if (!request.format.empty()) {
    for (const auto* dialect : dialects) {
      if (dialect->name == request.format) return format_called(*dialect, text);
    }
    throw ConfigError({{{"--format", 0, 0},
                        "",
                        in_quotes(request.format) + " is not a format of recipes",
                        "megatron, torchtitan, deepspeed or maxtext"}});
  }
  if (const auto format = format_of(text)) return *format;
  throw ConfigError(
      {{{request.file, 0, 0},
        "",
        "is no recipe of a known format",
        "arguments of Megatron-LM, YAML of Megatron or MaxText, TOML of torchtitan, JSON of DeepSpeed, or "
        "--format"}});
}

/// The machine: its chips, and those of one slice.
void read_machine(const RecipeRequest& request, Recipe& recipe) {
  if (request.cluster.empty()) {
    recipe.problems.add({{"--cluster", 0, 0},
                         "",
                         "is missing: a recipe does not say its machine",
                         "a machine such as dgx-h100:8 for 8 nodes (64 chips), or tpu-v5p:4x4x8"});
    return;
  }
  auto& cluster = recipe.cluster;
  Problems problems;
  if (request.cluster.starts_with("{")) {
    cluster = scenario::read_cluster(YamlView::from_text(request.cluster, "--cluster", problems), ".", problems);
    recipe.draft.set("cluster", request.cluster, std::string("--cluster"));
  } else {
    cluster = scenario::parse_cluster(request.cluster, {"--cluster", 0, 0}, "", problems);
    recipe.draft.set("cluster", in_one_line(request.cluster), std::string("--cluster"));
  }
  if (problems.empty()) scenario::check_cluster(cluster, {"--cluster", 0, 0}, "", problems);
  problems.throw_if_any();
  recipe.chips = cluster.devices();
  recipe.has_pods = cluster.node() == nullptr;
  recipe.chips_a_slice = recipe.has_pods ? recipe.chips / std::max(1, cluster.units) : cluster.node()->chips;
}

/// Options that no line says: with their reason, or counted if they change neither time nor memory.
std::int64_t sort_out(const Dialect& dialect, const RecipeOptions& options, ScenarioDraft& draft) {
  std::int64_t count = 0;
  for (const auto* option : options.unread()) {
    if (const auto* known = named(dialect.without_counterpart, option->name)) {
      draft.leave_out(*option, std::string(known->why));
    } else if (std::any_of(dialect.without_influence.begin(), dialect.without_influence.end(),
                           [&](auto pattern) { return fits(pattern, option->name); })) {
      ++count;
    } else {
      draft.leave_out(*option, "not known");
    }
  }
  return count;
}

std::string comments(const ImportedRecipe& recipe) {
  std::string text;
  if (!recipe.left_out.empty()) text += "\n# Without a counterpart:\n";
  for (const auto& left : recipe.left_out)
    text += "# " + visible(left.option) + ", line " + std::to_string(left.where.line) + ": " + visible(left.why) + "\n";
  if (recipe.without_influence > 0)
    text += "\n# Options without influence on time and memory: " + std::to_string(recipe.without_influence) + ".\n";
  return text;
}

/// Whether the scenario loads and its parts fit together; problems are told of the options behind its lines.
void check(const ImportedRecipe& recipe, const ScenarioDraft& draft, int lines_before, const std::string& file) {
  try {
    (void)preparation::prepare(scenario::scenario_of_text(recipe.yaml, file, "."));
  } catch (const ConfigError& error) {
    Problems told;
    for (auto problem : error.problems()) {
      if (problem.where.line > 0) problem.where.line -= lines_before;
      told.add(draft.told_of_option(problem));
    }
    told.throw_if_any();
  }
}

}  // namespace

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const auto* dialect : dialects) names.emplace_back(dialect->name);
  return names;
}

ImportedRecipe import_recipe(std::string_view text, const RecipeRequest& request) {
  const auto format = wanted_format(text, request);
  Problems problems;
  auto list = format.read != nullptr ? format.read(text, request.file, problems)
                                     : shell_options(text, request.file, request.variables, problems);
  problems.throw_if_any();
  const bool is_yaml = format.read == yaml_options;
  if (format.dialect == &megatron && is_yaml) list = as_megatron_arguments(std::move(list));
  RecipeOptions options(std::move(list), problems);
  ScenarioDraft draft;
  Recipe recipe{options, draft, problems, request.file};
  draft.set("format", 1, std::string());
  read_machine(request, recipe);
  problems.throw_if_any();
  recipe.sequence_length = request.sequence_length;
  recipe.has_model = !request.model.empty();
  if (recipe.has_model) {
    draft.set("model", in_one_line(request.model), std::string("--model"));
    recipe.layers = layers_of(request.model);
  }
  for (const auto& key : request.set) recipe.said.insert(key.path);
  format.dialect->carry_over(recipe);
  problems.throw_if_any();
  for (const auto& key : request.set) draft.set(key.path, key.value, std::string("--set"));

  ImportedRecipe imported;
  imported.title = format.dialect->title;
  imported.without_influence = sort_out(*format.dialect, options, draft);
  imported.lines = draft.lines();
  imported.left_out = draft.left_out();
  const auto head = "# " + visible(request.file) + ": " + imported.title +
                    " as a scenario, by `lockstep import recipe`. Each key: docs/scenario_reference.md.\n";
  imported.yaml = head + draft.yaml() + comments(imported);
  check(imported, draft, 1, request.file);
  return imported;
}

}  // namespace lockstep::recipes
