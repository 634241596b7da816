#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>

#include "sim/core/quantity_text.hpp"
#include "sim/studies/recipes/read_recipe.hpp"

namespace lockstep::recipes {
namespace {

Location place(const toml::source_region& source, const std::string& file) {
  return {file, static_cast<int>(source.begin.line), static_cast<int>(source.begin.column)};
}

/// One value as text; of a table or a list in a list, that it is there.
std::string text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
  if (const auto* number = node.as_floating_point()) return exact(number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return "...";
}

/// Whether a key has more parts than a recipe's: each part is a table inside the one before.
bool has_deep_key(std::string_view text) {
  constexpr int most_parts = 64;
  int dots = 0;
  for (const char c : text) {
    if (c == '\n' || c == '=' || c == ',' || c == '{' || c == '[') dots = 0;
    if (c == '.' && ++dots >= most_parts) return true;
  }
  return false;
}

void collect(const toml::table& table, const std::string& path, const std::string& file,
             std::vector<RecipeOption>& options) {
  for (const auto& [key, node] : table) {
    const auto name = (path.empty() ? "" : path + ".") + std::string(key.str());
    if (const auto* inner = node.as_table()) {
      collect(*inner, name, file, options);
      continue;
    }
    RecipeOption option{name, name, {}, place(key.source(), file)};
    if (const auto* list = node.as_array()) {
      for (const auto& item : *list) option.values.push_back(text_of(item));
      if (option.values.empty()) option.values.emplace_back("[]");
    } else {
      option.values.push_back(text_of(node));
    }
    options.push_back(std::move(option));
  }
}

}  // namespace

std::vector<RecipeOption> toml_options(std::string_view text, const std::string& file, Problems& problems) {
  std::vector<RecipeOption> options;
  if (has_deep_key(text)) {
    problems.add({{file, 0, 0}, "", "there is a key of more than 64 parts", "the TOML of a recipe"});
    return options;
  }
  const auto parsed = toml::parse(text);
  if (!parsed) {
    const auto& error = parsed.error();
    problems.add({place(error.source(), file), "", std::string(error.description()), "TOML"});
    return options;
  }
  collect(parsed.table(), "", file, options);
  // As they stand in the file, not in the order of their names.
  std::stable_sort(options.begin(), options.end(), [](const auto& a, const auto& b) {
    return std::pair(a.where.line, a.where.column) < std::pair(b.where.line, b.where.column);
  });
  return options;
}

}  // namespace lockstep::recipes
