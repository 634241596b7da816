#include <algorithm>
#include <cctype>

#include "sim/studies/recipes/read_recipe.hpp"
#include "sim/studies/recipes/shell_commands_private.hpp"

namespace lockstep::recipes {
namespace {

constexpr std::size_t most_values = 64;  // of one option; what comes behind belongs to something else

bool is_option(const std::string& word) {
  return word.size() > 2 && word.starts_with("--") && std::isalpha(static_cast<unsigned char>(word[2])) != 0;
}

/// Whether a word is `key=value`, as MaxText takes them; capitals are the environment's.
bool is_setting(const std::string& word) {
  const auto equals = word.find('=');
  return equals != std::string::npos && equals > 0 && std::islower(static_cast<unsigned char>(word[0])) != 0 &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), [](unsigned char c) {
           return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_' || c == '.';
         });
}

std::string with_dashes(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

/// The words of a word that holds several, as a whole command line in quotes does.
PlacedWords split(const PlacedText& word) {
  if (word.chars.find("--") == std::string::npos) return {word};
  PlacedWords words(1);
  for (std::size_t i = 0; i < word.chars.size(); ++i) {
    const char c = word.chars[i];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\\') {
      if (!words.back().chars.empty()) words.emplace_back();
    } else {
      words.back().add(c, word.at[i]);
    }
  }
  return words;
}

void collect(const PlacedWords& command, const ShellText& shell, std::vector<RecipeOption>& options) {
  bool is_open = false;  // the last option may take values
  for (const auto& given : command) {
    for (const auto& word : split(given)) {
      const auto& text = word.chars;
      if (text.empty()) continue;
      const auto where = shell.place(word.at.front());
      const auto equals = text.find('=');
      if (is_option(text)) {
        const auto name = text.substr(2, equals == std::string::npos ? equals : equals - 2);
        options.push_back({with_dashes(name), "--" + name, {}, where});
        if (equals != std::string::npos) options.back().values.push_back(text.substr(equals + 1));
        is_open = equals == std::string::npos;
      } else if (is_setting(text)) {
        options.push_back({text.substr(0, equals), text.substr(0, equals), {text.substr(equals + 1)}, where});
        is_open = false;
      } else if (is_open && options.back().values.size() < most_values) {
        options.back().values.push_back(text);
      }
    }
  }
}

}  // namespace

std::vector<RecipeOption> shell_options(std::string_view text, const std::string& file, const Variables& variables,
                                        Problems& problems) {
  ShellText shell(text, file, problems);
  for (const auto& [name, value] : variables) shell.set_outside(name, value);
  std::vector<RecipeOption> options;
  for (const auto& command : commands_of(shell)) collect(command, shell, options);
  const bool is_run = std::any_of(options.begin(), options.end(), [](const auto& option) {
    return option.name == "hidden-size" || option.name == "tensor-model-parallel-size" ||
           option.name == "micro-batch-size" || option.name == "per_device_batch_size";
  });
  if (is_run) return options;
  for (const auto& [name, words] : shell.variables()) collect(words, shell, options);
  return options;
}

}  // namespace lockstep::recipes
