#include "tools/commands/given_scenario.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "sim/core/known_word.hpp"
#include "sim/core/readable_file.hpp"
#include "sim/core/yaml_text.hpp"
#include "sim/scenario/scenario_of_document.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/output/elements/shell_word.hpp"
#include "workloads/model/model.hpp"

namespace lockstep::commands {
namespace {

constexpr std::size_t most_bytes = 4 << 20;  // of a scenario on stdin, as of one in a file
constexpr double most_tokens = 1e11;
constexpr std::int64_t most_of_a_sequence = 1'000'000'000;

bool is_model(const std::string& text) {
  if (text.ends_with(".json")) return true;
  if (!why_unreadable(text).empty()) {
    const auto names = workloads::model_names(scenario::data_root() / "workloads" / "catalog");
    return !known_word(text, names).empty();
  }
  return false;
}

[[noreturn]] void refuse_unknown_model(const std::string& word) {
  const auto names = workloads::model_names(scenario::data_root() / "workloads" / "catalog");
  auto near = did_you_mean(word, names);
  if (near.empty()) {
    for (const auto& name : names_with(word, names, 5)) near += (near.empty() ? "such as " : ", ") + name;
  }
  throw ConfigError(
      {{{word, 0, 0},
        "",
        "there is no such file, and no model of that name",
        "a config.json, a scenario or a name of lockstep list models" + (near.empty() ? "" : "; " + near)}});
}

std::string from_standard_input() {
  std::string text(most_bytes + 1, '\0');
  std::cin.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::cin.gcount()));
  if (text.size() > most_bytes)
    throw ConfigError({{{"stdin", 0, 0}, "", "is larger than 4 MiB", "a scenario, which is a few lines of YAML"}});
  return text;
}

std::string from_file(const std::string& file) {
  std::ostringstream text;
  if (why_unreadable(file).empty()) text << std::ifstream(file, std::ios::binary).rdbuf();
  return std::move(text).str();
}

std::optional<std::int64_t> length_of(const std::string& text) {
  const auto tokens = tokens_of(text);
  return tokens && *tokens <= most_of_a_sequence ? tokens : std::nullopt;
}

/// The scenario of a model on a machine: nothing but what the options say.
std::string of_model(const ScenarioArguments& arguments) {
  Problems problems;
  const auto missing = [&](const std::string& option, const std::string& expected) {
    problems.add({{option, 0, 0}, "", "is missing: '" + arguments.scenario + "' is a model alone", expected});
  };
  if (arguments.cluster.empty())
    missing("--cluster", "a machine such as dgx-h100:8 for 8 nodes (64 chips), or tpu-v5p:4x4x8");
  if (arguments.batch_tokens.empty()) missing("--batch-tokens", "the tokens of a step, such as 4M");
  if (arguments.sequence_length.empty()) missing("--sequence-length", "the tokens of a sequence, such as 8192 or 8k");
  const auto tokens = tokens_of(arguments.batch_tokens), length = length_of(arguments.sequence_length);
  if (!length && !arguments.sequence_length.empty()) {
    problems.add({{"--sequence-length", 0, 0},
                  "",
                  "'" + arguments.sequence_length + "' is not a number of tokens",
                  "a number such as 8192 or 8k (8,192), at most 1e9"});
  }
  if (!tokens && !arguments.batch_tokens.empty()) {
    problems.add({{"--batch-tokens", 0, 0},
                  "",
                  "'" + arguments.batch_tokens + "' is not a number of tokens",
                  "a number such as 4M (4,194,304), 512k or 4e6, at most 1e11"});
  } else if (tokens && length && *tokens % *length != 0) {
    const std::int64_t below = *tokens / *length * *length;
    problems.add({{"--batch-tokens", 0, 0},
                  "",
                  std::to_string(*tokens) + " tokens are no whole number of sequences of " + std::to_string(*length),
                  (below > 0 ? std::to_string(below) + " or " : "") + std::to_string(below + *length)});
  }
  problems.throw_if_any();
  const bool is_map = arguments.cluster.find_first_of("{[\n") != std::string::npos;
  const auto cluster = is_map ? arguments.cluster : in_one_line(arguments.cluster);
  return "format: 1\nmodel: " + in_one_line(arguments.scenario) + "\ncluster: " + cluster +
         "\nbatch: {sequences: " + std::to_string(*tokens / *length) + ", sequence_length: " + std::to_string(*length) +
         "}\n";
}

/// The lines of a scenario that of_model wrote are the options that they came from.
std::vector<Problem> by_option(std::vector<Problem> problems, const std::string& file) {
  for (auto& problem : problems) {
    if (problem.where.file != file || problem.where.line < 3 || problem.where.line > 4) continue;
    problem.where = {problem.where.line == 3 ? "--cluster" : "--batch-tokens", 0, 0};
    if (problem.key == "cluster" || problem.key == "batch") problem.key.clear();
  }
  return problems;
}

}  // namespace

std::optional<std::int64_t> tokens_of(const std::string& text) {
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const std::string unit(rest, text.data() + text.size());
  const double factor = unit.empty() ? 1 : unit == "k" || unit == "K" ? 1 << 10 : unit == "M" ? 1 << 20 : 0;
  const double tokens = number * factor;
  if (!(tokens >= 1) || tokens > most_tokens || tokens != std::floor(tokens)) return std::nullopt;
  return static_cast<std::int64_t>(tokens);
}

void add_model_options(Command& command, ScenarioArguments& arguments) {
  command.option("--cluster", arguments.cluster,
                 "for a model: the machine, such as dgx-h100:8 for 8 nodes (64 chips), or tpu-v5p:4x4x8");
  command.option("--batch-tokens", arguments.batch_tokens,
                 "for a model: the tokens of a step, such as 4M (4,194,304), 512k or 4e6");
  command.option("--sequence-length", arguments.sequence_length,
                 "for a model: the tokens of a sequence, such as 8192 or 8k");
}

void add_scenario(Command& command, ScenarioArguments& arguments, const std::string& more) {
  command
      .option("scenario", arguments.scenario,
              "scenario file (YAML), - for stdin, or a model: a config.json or a name of the catalog" + more)
      .required();
  command.option("--set", arguments.overrides, "replace a key of the scenario: a.b=c (may be repeated)").repeatable();
  add_model_options(command, arguments);
}

GivenScenario::GivenScenario(const ScenarioArguments& arguments)
    : name_(arguments.scenario),
      arguments_(output::shell_word(arguments.scenario)),
      overrides_(parse_overrides(arguments.overrides)) {
  const bool of_a_model =
      !arguments.cluster.empty() || !arguments.batch_tokens.empty() || !arguments.sequence_length.empty();
  if (arguments.scenario != "-" && !is_model(arguments.scenario) && of_a_model &&
      !why_unreadable(arguments.scenario).empty())
    refuse_unknown_model(arguments.scenario);
  kind_ = arguments.scenario == "-" ? Kind::standard_input : is_model(arguments.scenario) ? Kind::model : Kind::file;
  if (kind_ != Kind::model) {
    for (const auto& [option, given] : {std::pair{"--cluster", !arguments.cluster.empty()},
                                        std::pair{"--batch-tokens", !arguments.batch_tokens.empty()},
                                        std::pair{"--sequence-length", !arguments.sequence_length.empty()}}) {
      if (given)
        throw ConfigError({{{option, 0, 0},
                            "",
                            "belongs to a model, and '" + arguments.scenario + "' is a scenario",
                            "--set cluster=..., --set batch.sequences=..."}});
    }
  }
  switch (kind_) {
    case Kind::file: text_ = from_file(name_); break;
    case Kind::standard_input:
      name_ = "stdin";
      text_ = from_standard_input();
      break;
    case Kind::model:
      text_ = of_model(arguments);
      arguments_ += " --cluster " + output::shell_word(arguments.cluster) + " --batch-tokens " +
                    arguments.batch_tokens + " --sequence-length " + arguments.sequence_length;
      break;
  }
  for (const auto& replaced : arguments.overrides) arguments_ += " --set " + output::shell_word(replaced);
}

YamlView GivenScenario::document(Problems& problems) const {
  auto root = is_file() ? YamlView::from_file(name_, problems) : YamlView::from_text(text_, name_, problems);
  for (const auto& key : overrides_) root = root.with_override(key.path, key.value);
  return root;
}

scenario::Scenario GivenScenario::load() const {
  if (is_file()) return scenario::load_scenario(name_, overrides_);
  Problems problems;
  scenario::LastParts none;
  const auto stem = std::filesystem::path(name_).stem().string();
  try {
    return scenario_of_document(YamlView::from_text(text_, name_, problems), overrides_, stem.empty() ? name_ : stem,
                                ".", problems, none);
  } catch (const ConfigError& error) {
    if (kind_ != Kind::model) throw;
    throw ConfigError(by_option(error.problems(), name_));
  }
}

bool GivenScenario::lacks_a_plan() const {
  return kind_ == Kind::model && std::none_of(overrides_.begin(), overrides_.end(), [](const auto& key) {
           return key.path.starts_with("parallel") || key.path.starts_with("mesh") || key.path.starts_with("pipeline");
         });
}

void GivenScenario::split_by(const std::vector<scenario::KeyOverride>& keys) {
  overrides_.insert(overrides_.end(), keys.begin(), keys.end());
}

}  // namespace lockstep::commands
