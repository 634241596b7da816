#include <algorithm>

#include "sim/studies/megatron_order.hpp"
#include "sim/studies/recipes/dialects_private.hpp"

namespace lockstep::recipes {

bool fits(std::string_view pattern, std::string_view name) {
  return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1)) : name == pattern;
}

const NamedOption* named(std::span<const NamedOption> list, std::string_view name) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& known) { return fits(known.name, name); });
  return found == list.end() ? nullptr : &*found;
}

void pass_over_model(Recipe& recipe, void (*read)(Recipe&)) {
  Problems unheard;
  ScenarioDraft unused;
  Recipe copy{recipe.options, unused, unheard, recipe.file};
  recipe.options.report_to(unheard);
  read(copy);
  recipe.options.report_to(recipe.problems);
}

std::int64_t replicas_of(Recipe& recipe, std::int64_t ranks, const RecipeOption* option, const std::string& degrees) {
  if (ranks <= recipe.chips && recipe.chips % ranks == 0) return recipe.chips / ranks;
  const auto what = degrees + " = " + std::to_string(ranks) + " ranks do not divide the machine's " +
                    std::to_string(recipe.chips) + " chips";
  const auto expected = "a --cluster with a multiple of " + std::to_string(ranks) + " chips";
  if (option != nullptr)
    recipe.options.problem(*option, what, expected);
  else
    recipe.problem("parallel", what, expected);
  return 1;
}

std::int64_t place_experts(Recipe& recipe, std::int64_t experts, std::int64_t expert_tensor, std::int64_t tensor,
                           std::int64_t context, std::int64_t replicas, const RecipeOption& option) {
  if (experts <= 1) return replicas;
  if (tensor % expert_tensor != 0) {
    recipe.options.problem(option,
                           "experts split over " + std::to_string(expert_tensor) + " of " + std::to_string(tensor) +
                               " tensor ranks have no counterpart",
                           "expert tensor parallelism that divides " + std::to_string(tensor));
    return replicas;
  }
  const auto inside = tensor / expert_tensor;  // tensor ranks with experts of their own
  if (const auto ranks = studies::ranks_of_experts(experts, inside, context, replicas)) {
    set_axis(recipe, "expert", ranks->expert, option);
    if (ranks->over != "[expert]") recipe.draft.set("parallel.experts_over", ranks->over, option);
    return replicas / ranks->expert;
  }
  recipe.options.problem(option,
                         std::to_string(experts) + " expert ranks do not lie on " + std::to_string(replicas) +
                             " replicas of " + std::to_string(inside * context) + " ranks that may hold experts",
                         "a machine with more chips, or fewer expert ranks");
  return replicas;
}

std::string list_of(const std::vector<std::int64_t>& numbers) {
  std::string text = "[";
  for (const auto number : numbers) text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + "]";
}

}  // namespace lockstep::recipes
