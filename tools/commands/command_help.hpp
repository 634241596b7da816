#pragma once
/// What a program tells about itself, from which its manual page and the completions of shells are written.
#include <string>
#include <vector>

namespace lockstep::commands {

struct OptionHelp {
  std::vector<std::string> names;  ///< "-h", "--help"; of a positional argument only its name
  std::string value;               ///< "TEXT", "INT"; empty: a flag
  std::vector<std::string> words;  ///< the values that it takes, where they are few words
  std::string text;
  bool positional = false;
};

/// The program, or one of its commands.
struct CommandHelp {
  std::string name, text;
  std::string examples;  ///< lines below the options; may be empty
  std::vector<OptionHelp> options;
  std::vector<CommandHelp> commands;
};

/// The manual page in troff, section 1, as `man` reads it.
[[nodiscard]] std::string manual_page(const CommandHelp& program, const std::string& version);

/// The shells for which there are completions.
[[nodiscard]] std::vector<std::string> shells_with_completion();
/// A script that completes commands, options, words and files. `shell` is one of those above.
[[nodiscard]] std::string completion(const CommandHelp& program, const std::string& shell);

}  // namespace lockstep::commands
