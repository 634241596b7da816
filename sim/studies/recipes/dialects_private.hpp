#pragma once
/// What the dialects of recipes share: each makes lines of a scenario of its options, and says what it left out.
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/studies/recipes/recipe_options.hpp"
#include "sim/studies/recipes/scenario_draft.hpp"
#include "topologies/cluster/cluster_spec.hpp"

namespace lockstep::recipes {

/// What a recipe is imported with.
struct Recipe {
  RecipeOptions& options;
  ScenarioDraft& draft;
  Problems& problems;
  std::string file;
  topologies::ClusterSpec cluster{};  ///< the machine
  std::int64_t chips = 0;             ///< of the machine
  std::int64_t chips_a_slice = 0;     ///< of one torus, node or rack: what JAX calls a slice
  bool has_pods = false;              ///< slices are pods of a torus
  bool has_model = false;             ///< another one takes the place of the recipe's
  std::optional<std::int64_t> sequence_length{};
  std::int64_t layers = 0;  ///< of a model that is not the recipe's own; 0: not known

  std::set<std::string> said{};  ///< keys of the scenario that its user sets

  /// A problem of the file as a whole, unless the user says that key.
  void problem(const std::string& key, const std::string& what, const std::string& expected) const {
    if (!said.contains(key)) problems.add({{file, 0, 0}, key, what, expected});
  }
};

/// A name, or how names begin if it ends in `*`, and why such options have no line.
struct NamedOption {
  std::string_view name, why;
};
/// Whether an option's name is this one, or begins as it says.
[[nodiscard]] bool fits(std::string_view pattern, std::string_view name);
/// The first of the list that fits; null if none does.
[[nodiscard]] const NamedOption* named(std::span<const NamedOption> list, std::string_view name);

/// What a format is called, and what it makes of its options.
struct Dialect {
  std::string_view name, title;
  void (*carry_over)(Recipe& recipe);
  std::span<const NamedOption> without_counterpart;     ///< with a reason each
  std::span<const std::string_view> without_influence;  ///< on time and memory, written as in NamedOption
};
extern const Dialect megatron, torchtitan, deepspeed, maxtext;
void carry_over_megatron(Recipe& recipe);
void carry_over_maxtext(Recipe& recipe);
/// quantization, dtype and weight_dtype.
void maxtext_formats(Recipe& recipe);

/// Options of Megatron's YAML files under the names of its arguments.
[[nodiscard]] std::vector<RecipeOption> as_megatron_arguments(std::vector<RecipeOption> options);

/// The model and the pipeline of Megatron's arguments.
void megatron_model(Recipe& recipe, std::int64_t tensor);
void megatron_pipeline(Recipe& recipe, std::int64_t pipeline);
/// Precision, optimizer, recomputation and communication.
void megatron_training(Recipe& recipe, std::int64_t tensor);

/// The model of a name that recipes use, such as llama3-70b: one of the catalog, or a block in one line; "" if it is
/// not known. Dashes, slashes and capitals do not matter.
[[nodiscard]] std::string model_called(std::string_view name);
/// Layers of a scenario's `model` in one line; 0 if it cannot be read. Files are seen from here.
[[nodiscard]] std::int64_t layers_of(const std::string& model);

/// Passes over the options that say a model, since another model takes its place: `read` reads them for nothing.
void pass_over_model(Recipe& recipe, void (*read)(Recipe&));

/// What is left of the machine's chips for replicas of so many ranks; 1 with a problem at the option if they do not
/// divide. `degrees` says them: "tensor 8 x pipeline 16".
[[nodiscard]] std::int64_t replicas_of(Recipe& recipe, std::int64_t ranks, const RecipeOption* option,
                                       const std::string& degrees);
/// Divides so many replicas over expert and data axes; sets parallel.expert and parallel.experts_over. Returns the data
/// axis. `inside` is the number of ranks of tensor and context over which one replica's experts may lie.
[[nodiscard]] std::int64_t place_experts(Recipe& recipe, std::int64_t experts, std::int64_t expert_tensor,
                                         std::int64_t tensor, std::int64_t context, std::int64_t replicas,
                                         const RecipeOption& option);
/// Sets an axis of `parallel` if it is larger than 1.
template <class Because>
void set_axis(Recipe& recipe, const std::string& axis, std::int64_t size, const Because& because) {
  if (size > 1) recipe.draft.set("parallel." + axis, size, because);
}
/// [1, 2, 3].
[[nodiscard]] std::string list_of(const std::vector<std::int64_t>& numbers);

}  // namespace lockstep::recipes
