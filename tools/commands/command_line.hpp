#pragma once
/// The options of a program and of its subcommands. Only command_line.cpp includes CLI11, which takes seconds to
/// compile.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/commands/command_help.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace lockstep::commands {

/// One option of a command; each call restricts it further or adds to its line of --help.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option& required();
  Option& between(int least, int most);
  Option& between(double least, double most);
  Option& not_negative();
  Option& one_of(const std::vector<std::string>& words);
  Option& shows_default();  ///< the value that the variable has now
  Option& repeatable();     ///< of a list: one value each time
  Option& needs(const std::string& other);
  Option& excludes(const Option& other);

 private:
  CLI::Option* option_;
};

/// A subcommand, or a program that has none.
class Command {
 public:
  Command(CLI::App* app, std::shared_ptr<const std::string> typed) : app_(app), typed_(std::move(typed)) {}
  /// Fills `value`, which must live until the command has run. "name": a positional argument, "--name": an option.
  /// Value: std::string, std::vector<std::string>, double, std::int32_t, std::int64_t, std::uint64_t, or an optional of
  /// one.
  template <class Value>
  Option option(const std::string& name, Value& value, const std::string& text);
  Option flag(const std::string& name, bool& value, const std::string& text);
  /// A command below this one, which then needs one of them and has no work of its own.
  [[nodiscard]] Command command(const std::string& name, const std::string& text);
  void footer(const std::string& text);
  void callback(std::function<void()> work);
  /// The command line as a shell takes it, without --out: what gives the same answer again. Empty until it is read.
  [[nodiscard]] std::shared_ptr<const std::string> typed() const { return typed_; }

 private:
  CLI::App* app_;
  std::shared_ptr<const std::string> typed_;
};

/// The whole command line.
class CommandLine {
 public:
  CommandLine(const std::string& text, const std::string& program);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// The program's own options.
  [[nodiscard]] Command program();
  /// From the first of them on, one must be given.
  [[nodiscard]] Command command(const std::string& name, const std::string& text);
  void flag(const std::string& name, std::function<void()> given, const std::string& text);
  void version(const std::string& text);

  /// What --help tells of the program and its commands, for the manual page and the shells.
  [[nodiscard]] CommandHelp help() const;

  /// Reads the arguments and runs the command that they name. The exit code where there is nothing left to do: --help,
  /// --version and wrong arguments, which it prints. Throws ConfigError for a word that is no command, and what the
  /// command throws.
  [[nodiscard]] std::optional<int> run(int argc, const char* const* argv);

 private:
  void refuse_unknown_command(const std::vector<const char*>& words) const;
  void refuse_extra_words() const;
  void refuse_missing() const;
  void refuse_empty_values();

  std::unique_ptr<CLI::App> app_;
  std::string program_;
  std::shared_ptr<std::string> typed_ = std::make_shared<std::string>();
};

}  // namespace lockstep::commands
