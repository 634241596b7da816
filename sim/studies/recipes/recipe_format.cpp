// Which program a recipe is for, by its words.
#include <algorithm>
#include <array>

#include "sim/studies/recipes/recipe_format_private.hpp"

namespace lockstep::recipes {
namespace {

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }
template <std::size_t N>
bool has_any(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(), [&](auto word) { return has(text, word); });
}

constexpr std::array<std::string_view, 5> of_deepspeed{"train_batch_size", "train_micro_batch_size_per_gpu",
                                                       "zero_optimization", "gradient_accumulation_steps", "fp16"};
constexpr std::array<std::string_view, 7> of_maxtext{
    "base_emb_dim", "per_device_batch_size",   "ici_", "max_target_length",
    "remat_policy", "base_num_decoder_layers", "dcn_"};
constexpr std::array<std::string_view, 7> of_arguments{
    "--num-layers", "--tensor-model-parallel-size",  "--hidden-size", "--micro-batch-size", "--global-batch-size",
    "--seq-length", "--pipeline-model-parallel-size"};
constexpr std::array<std::string_view, 5> of_fields{"tensor_model_parallel_size", "micro_batch_size",
                                                    "global_batch_size", "num_layers", "pipeline_model_parallel_size"};

/// Whether a line of the text is a table of TOML: [model].
bool has_table(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    auto line = text.substr(at, end - at);
    while (line.ends_with(' ') || line.ends_with('\r') || line.ends_with('\t')) line.remove_suffix(1);
    if (line.starts_with('[') && line.ends_with(']') && line.size() > 2 && line[1] >= 'a' && line[1] <= 'z')
      return true;
    at = end + 1;
  }
  return false;
}

/// Whether the first words are `key:`, as in YAML.
bool looks_like_yaml(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    at = end + 1;
    const auto first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line[first] == '#' || line.starts_with("---")) continue;
    const auto colon = line.find(':', first);
    return colon != std::string_view::npos && line.find_first_of(" =$(", first) > colon;
  }
  return false;
}

}  // namespace

std::optional<RecipeFormat> format_of(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first != std::string_view::npos && text[first] == '{')
    return has_any(text, of_deepspeed) ? std::optional(RecipeFormat{&deepspeed, yaml_options}) : std::nullopt;
  if (looks_like_yaml(text)) {
    if (has_any(text, of_maxtext)) return RecipeFormat{&maxtext, yaml_options};
    if (has_any(text, of_arguments) || has_any(text, of_fields)) return RecipeFormat{&megatron, yaml_options};
    return std::nullopt;
  }
  if (has_any(text, of_arguments)) return RecipeFormat{&megatron, nullptr};
  if (has_any(text, of_maxtext)) return RecipeFormat{&maxtext, nullptr};
  if (has_table(text)) return RecipeFormat{&torchtitan, toml_options};
  return std::nullopt;
}

RecipeFormat format_called(const Dialect& dialect, std::string_view text) {
  if (&dialect == &deepspeed) return {&dialect, yaml_options};
  if (&dialect == &torchtitan) return {&dialect, toml_options};
  return {&dialect, looks_like_yaml(text) ? yaml_options : nullptr};
}

}  // namespace lockstep::recipes
