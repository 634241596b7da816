#include <algorithm>

#include "sim/core/errors.hpp"
#include "tools/commands/command_help.hpp"

namespace lockstep::commands {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string made;
  for (const auto& word : words) made += (made.empty() ? "" : " ") + word;
  return made;
}

/// A word between single quotes of a shell.
std::string quoted(const std::string& text) {
  std::string made = "'";
  for (const char c : text) made += c == '\'' ? "'\\''" : std::string(1, c);
  return made + "'";
}

std::vector<std::string> command_names(const CommandHelp& program) {
  std::vector<std::string> names;
  for (const auto& command : program.commands) names.push_back(command.name);
  return names;
}

std::vector<std::string> option_names(const CommandHelp& command) {
  std::vector<std::string> names;
  for (const auto& option : command.options)
    if (!option.positional) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

/// The commands that have no others below them, by the words that name them with a dash between.
void add_commands(const CommandHelp& above, const std::string& path,
                  std::vector<std::pair<std::string, const CommandHelp*>>& found) {
  for (const auto& command : above.commands) {
    const auto name = path.empty() ? command.name : path + "-" + command.name;
    if (command.commands.empty())
      found.emplace_back(name, &command);
    else
      add_commands(command, name, found);
  }
}

/// Completes the word at the cursor from the command that the first words name; files where nothing else is known.
std::string for_bash(const CommandHelp& program) {
  std::vector<std::pair<std::string, const CommandHelp*>> commands;
  add_commands(program, "", commands);
  std::string made = "# Completions of " + program.name + " for bash.\n_" + program.name +
                     "() {\n"
                     "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=''\n"
                     "  local command=${COMP_WORDS[1]}\n"
                     "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                     "    COMPREPLY=($(compgen -W " +
                     quoted(joined(command_names(program)) + " " + joined(option_names(program))) +
                     " -- \"$word\"))\n    return\n  fi\n";
  for (const auto& command : program.commands) {
    if (command.commands.empty()) continue;
    made += "  if [ \"$command\" = " + command.name +
            " ]; then\n    if [ \"$COMP_CWORD\" -eq 2 ]; then\n      COMPREPLY=($(compgen -W " +
            quoted(joined(command_names(command))) +
            " -- \"$word\"))\n      return\n    fi\n    [ \"$COMP_CWORD\" -gt 3 ] || before=$command-$before\n"
            "    command=$command-${COMP_WORDS[2]}\n  fi\n";
  }
  made += "  case $command:$before in\n";
  for (const auto& [name, command] : commands) {
    for (const auto& option : command->options) {
      if (option.words.empty()) continue;
      std::string patterns;
      for (const auto& before : option.positional ? std::vector{name} : option.names)
        patterns += (patterns.empty() ? "" : "|") + name + ":" + before;
      made += "    " + patterns + ") words=" + quoted(joined(option.words)) + " ;;\n";
    }
  }
  made += "  esac\n  if [ -z \"$words\" ] && [[ $word == -* ]]; then\n    case $command in\n";
  for (const auto& [name, command] : commands)
    made += "      " + name + ") words=" + quoted(joined(option_names(*command))) + " ;;\n";
  return made +
         "    esac\n  fi\n  if [ -n \"$words\" ]; then\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n  else\n"
         "    compopt -o filenames 2>/dev/null\n    COMPREPLY=($(compgen -f -- \"$word\"))\n  fi\n}\ncomplete -F _" +
         program.name + " " + program.name + "\n";
}

/// zsh reads a script for bash once it is told to.
std::string for_zsh(const CommandHelp& program) {
  return "#compdef " + program.name + "\nautoload -U +X bashcompinit && bashcompinit\n" + for_bash(program);
}

std::string fish_options(const CommandHelp& command, const std::string& line, const std::string& seen) {
  std::string made;
  for (const auto& option : command.options) {
    if (option.positional) continue;
    made += line + " -n '" + seen + "'";
    for (const auto& name : option.names)
      made += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!option.words.empty()) {
      made += " -x -a " + quoted(joined(option.words));
    } else if (!option.value.empty()) {
      made += " -r";
    }
    made += " -d " + quoted(option.text) + "\n";
  }
  return made;
}

std::string for_fish(const CommandHelp& program) {
  const auto line = "complete -c " + program.name;
  std::string made = "# Completions of " + program.name + " for fish.\n";
  for (const auto& command : program.commands) {
    made += line + " -n __fish_use_subcommand -f -a " + command.name + " -d " + quoted(command.text) + "\n";
    const auto seen = "__fish_seen_subcommand_from " + command.name;
    for (const auto& below : command.commands) {
      made += line + " -n '" + seen + "; and not __fish_seen_subcommand_from " + joined(command_names(command)) +
              "' -f -a " + below.name + " -d " + quoted(below.text) + "\n" +
              fish_options(below, line, seen + "; and __fish_seen_subcommand_from " + below.name);
    }
    if (command.commands.empty()) made += fish_options(command, line, seen);
  }
  return made;
}

}  // namespace

std::vector<std::string> shells_with_completion() { return {"bash", "zsh", "fish"}; }

std::string completion(const CommandHelp& program, const std::string& shell) {
  if (shell == "bash") return for_bash(program);
  if (shell == "zsh") return for_zsh(program);
  if (shell == "fish") return for_fish(program);
  throw InternalError("no completion for " + shell);
}

}  // namespace lockstep::commands
