#include <algorithm>

#include "sim/studies/recipes/recipe_options.hpp"
#include "sim/studies/recipes/shell_commands_private.hpp"

namespace lockstep::recipes {
namespace {

/// What a condition compares: a value that the script does not say is empty.
std::string compared(const std::string& word) { return word.find('$') == std::string::npos ? word : ""; }

bool holds(std::vector<std::string> words) {
  if (words.size() > 1 && words.front() == "!") return !holds({words.begin() + 1, words.end()});
  if (words.size() == 2 && words[0] == "-n") return !words[1].empty();
  if (words.size() == 2 && words[0] == "-z") return words[1].empty();
  if (words.size() == 1 && (words[0] == "-z" || words[0] == "true")) return true;
  if (words.size() == 2 && (words[1] == "=" || words[1] == "==")) words.insert(words.begin(), "");
  if (words.size() == 2 && (words[0] == "=" || words[0] == "==")) words.insert(words.begin(), "");
  if (words.size() != 3) return words.size() == 1 && !words[0].empty() && words[0] != "false" && words[0] != "-n";
  const auto& sign = words[1];
  if (sign == "=" || sign == "==") return words[0] == words[2];
  if (sign == "!=") return words[0] != words[2];
  const auto left = whole_number(words[0]), right = whole_number(words[2]);
  if (!left || !right) return false;
  if (sign == "-eq") return *left == *right;
  if (sign == "-ne") return *left != *right;
  if (sign == "-lt") return *left < *right;
  if (sign == "-le") return *left <= *right;
  if (sign == "-gt") return *left > *right;
  return sign == "-ge" && *left >= *right;
}

}  // namespace

bool test_holds(const PlacedWords& command) {
  std::vector<std::string> words;
  for (const auto& word : command) {
    if (word.chars != "[" && word.chars != "[[" && word.chars != "]" && word.chars != "]]" && word.chars != "test")
      words.push_back(compared(word.chars));
  }
  const bool is_test = !command.empty() && (command.front().chars == "true" || command.front().chars == "[" ||
                                            command.front().chars == "[[" || command.front().chars == "test" ||
                                            command.back().chars == "]]" || command.front().chars == "!");
  return is_test && holds(words);
}

}  // namespace lockstep::recipes
