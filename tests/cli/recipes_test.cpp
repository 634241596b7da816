// lockstep import recipe, then lockstep check: what becomes of every recipe of tests/data/recipes, as a user runs it.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

std::vector<std::filesystem::path> recipes_of(const std::string& format) {
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(LOCKSTEP_SCENARIOS "/../recipes/" + format))
    files.push_back(std::filesystem::canonical(file.path()));
  std::sort(files.begin(), files.end());
  return files;
}

/// The words of a recipe's line "Machine: h100:4 --model llama-3-8b": its cluster and further options.
std::vector<std::string> machine_of(const std::filesystem::path& recipe) {
  std::ifstream file(recipe);
  const std::string text{std::istreambuf_iterator<char>(file), {}}, begin = "Machine: ";
  const auto at = text.find(begin) + begin.size();
  const auto line = text.substr(at, text.find_first_of("\n\"", at) - at);
  const auto options = std::min(line.find(" --"), line.size());
  std::vector<std::string> words{"--cluster", line.substr(0, options)};
  std::istringstream rest(line.substr(options));
  for (std::string word; rest >> word;) words.push_back(word);
  return words;
}

class RecipeCommands : public CommandLine, public testing::WithParamInterface<const char*> {};

// `check` does all that `run` does, so that a scenario which it takes runs. Some recipes need more memory than the
// machine of their line has, since that is our choice and DeepSpeed's files name no model: `check` says so and ends
// well.
TEST_P(RecipeCommands, AreTakenByCheck) {
  const auto recipes = recipes_of(GetParam());
  EXPECT_GE(recipes.size(), 10U);
  for (const auto& recipe : recipes) {
    SCOPED_TRACE(recipe.filename().string());
    const auto scenario = recipe.stem().string() + ".yaml";
    std::vector<std::string> words{"import", "recipe", recipe.string(), "--out", scenario};
    const auto machine = machine_of(recipe);
    words.insert(words.end(), machine.begin(), machine.end());
    static_cast<void>(good(words));
    EXPECT_THAT(good({"check", scenario}), testing::StartsWith(scenario + ": ok; "));
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, RecipeCommands,
                         testing::Values("megatron", "megatron_yaml", "torchtitan", "deepspeed", "maxtext"),
                         [](const auto& format) { return std::string(format.param); });

}  // namespace
}  // namespace lockstep::test
