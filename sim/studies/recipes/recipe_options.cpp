#include "sim/studies/recipes/recipe_options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace lockstep::recipes {
namespace {

constexpr const char* value_of_variable = "its value, by --variable NAME=VALUE";

bool says_nothing(const RecipeOption& option) {
  const auto word = in_lower_case(option.text());
  const bool is_empty = word.empty() || word == "''" || word == "\"\"";  // quotes inside a shell's quotes are kept
  return !option.values.empty() && (is_empty || word == "none" || word == "null" || word == "~" || word == "auto");
}

}  // namespace

std::string RecipeOption::text() const {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : " ") + value;
  return text;
}

std::string in_quotes(std::string_view text) {
  std::string result(1, '\'');
  result.append(text);
  result += '\'';
  return result;
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != '_') digits += c;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  constexpr double most = 1e15;  // a double holds every whole number up to here
  if (!(std::abs(value) <= most) || value != std::floor(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

const RecipeOption* RecipeOptions::find(Names names) {
  const RecipeOption* found = nullptr;
  for (std::size_t i = 0; i < options_.size(); ++i) {
    if (std::find(names.begin(), names.end(), options_[i].name) == names.end()) continue;
    is_read_[i] = true;
    found = &options_[i];
  }
  return found;
}

std::optional<std::int64_t> RecipeOptions::number(Names names, std::int64_t least, std::int64_t most) {
  const auto* option = find(names);
  if (option == nullptr || says_nothing(*option)) return std::nullopt;
  const auto value = whole_number(option->text());
  if (value && *value >= least && *value <= most) return value;
  problem(*option,
          in_quotes(option->text()) + " is not a whole number from " + std::to_string(least) + " to " +
              std::to_string(most),
          option->text().starts_with('$') ? value_of_variable : "such a number");
  return std::nullopt;
}

std::optional<double> RecipeOptions::decimal(Names names) {
  const auto* option = find(names);
  if (option == nullptr || says_nothing(*option)) return std::nullopt;
  const auto text = option->text();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(value)) return value;
  problem(*option, in_quotes(text) + " is not a number", "a number such as 0.1");
  return std::nullopt;
}

std::optional<std::string> RecipeOptions::word(Names names) {
  const auto* option = find(names);
  if (option == nullptr || says_nothing(*option)) return std::nullopt;
  return in_lower_case(option->text());
}

std::optional<std::string> RecipeOptions::one_of(std::string_view name, std::span<const std::string_view> words) {
  const auto* option = find(name);
  if (option == nullptr) return std::nullopt;
  const auto word = in_lower_case(option->text());
  if (std::find(words.begin(), words.end(), word) != words.end()) return word;
  if (says_nothing(*option) && word != "auto") return std::nullopt;
  std::string all;
  for (const auto known : words) all += (all.empty() ? "one of " : ", ") + std::string(known);
  const auto near = did_you_mean(word, std::vector<std::string>(words.begin(), words.end()));
  problem(*option, in_quotes(option->text()) + " is not known",
          option->text().starts_with('$') ? value_of_variable : all + (near.empty() ? "" : "; " + near));
  return std::nullopt;
}

std::optional<bool> RecipeOptions::boolean(Names names) {
  const auto* option = find(names);
  if (option == nullptr || says_nothing(*option)) return std::nullopt;
  const auto word = in_lower_case(option->text());
  if (option->values.empty() || word == "true" || word == "1" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "0" || word == "no" || word == "off") return false;
  problem(*option, in_quotes(option->text()) + " is neither true nor false", "true or false");
  return std::nullopt;
}

bool RecipeOptions::flag(Names names) { return boolean(names).value_or(false); }

std::vector<const RecipeOption*> RecipeOptions::unread() const {
  std::vector<const RecipeOption*> left;
  std::set<std::string_view> names;
  for (std::size_t i = options_.size(); i-- > 0;) {
    if (!is_read_[i] && names.insert(options_[i].name).second) left.push_back(&options_[i]);
  }
  std::reverse(left.begin(), left.end());
  return left;
}

void RecipeOptions::problem(const RecipeOption& option, std::string what, std::string expected) {
  problems_->add({option.where, option.shown, std::move(what), std::move(expected)});
}

}  // namespace lockstep::recipes
