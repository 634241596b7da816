#pragma once
/// The scenario that a command is about: a file, text on stdin, or a model with a machine and a batch on the command
/// line.
#include <optional>
#include <string>
#include <vector>

#include "sim/core/yaml_view.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::commands {

class Command;

struct ScenarioArguments {
  std::string scenario;  ///< FILE.yaml, "-", a config.json or a model of the catalog
  std::vector<std::string> overrides;
  std::string cluster, batch_tokens, sequence_length;  ///< of a model
};

/// The options that say what the scenario of a model is; the positional argument is the command's.
void add_model_options(Command& command, ScenarioArguments& arguments);
/// Positional argument, --set and the options of a model. `more` ends the line of the argument in --help.
void add_scenario(Command& command, ScenarioArguments& arguments, const std::string& more = "");

class GivenScenario {
 public:
  /// Reads stdin where the argument is "-". Throws ConfigError for options that are missing or do not belong.
  explicit GivenScenario(const ScenarioArguments& arguments);

  [[nodiscard]] scenario::Scenario load() const;
  /// The document with the overrides of --set; its problems go to `problems`.
  [[nodiscard]] YamlView document(Problems& problems) const;

  /// The file as it was named, or a name such as "stdin".
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool is_file() const { return kind_ == Kind::file; }
  /// Written from the command line, so that nobody has said how the model is split.
  [[nodiscard]] bool lacks_a_plan() const;
  /// Splits the model by these keys from now on.
  void split_by(const std::vector<scenario::KeyOverride>& keys);
  /// The arguments that give the same scenario again, for the report.
  [[nodiscard]] const std::string& arguments() const { return arguments_; }

 private:
  enum class Kind { file, standard_input, model };
  Kind kind_ = Kind::file;
  std::string name_, text_, arguments_;
  std::vector<scenario::KeyOverride> overrides_;
};

/// "4M" is 4 x 1,048,576 and "512k" 512 x 1,024, as recipes count tokens; "4e6" and "4194304" are taken as they are.
/// None if the text is none of these, or less than one token.
[[nodiscard]] std::optional<std::int64_t> tokens_of(const std::string& text);

}  // namespace lockstep::commands
