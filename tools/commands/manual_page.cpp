#include "tools/commands/command_help.hpp"

namespace lockstep::commands {
namespace {

/// Text as troff prints it: backslashes and dashes as they are, no line that begins with a request.
std::string plain(const std::string& text) {
  std::string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = i == 0 || text[i - 1] == '\n';
    if (begins && (text[i] == '.' || text[i] == '\'')) made += "\\&";
    made += text[i] == '\\' ? "\\e" : text[i] == '-' ? "\\-" : std::string(1, text[i]);
  }
  return made;
}

std::string options_of(const CommandHelp& command) {
  std::string made;
  for (const auto& option : command.options) {
    std::string names, words;
    for (const auto& name : option.names) names += (names.empty() ? "" : ", ") + name;
    for (const auto& word : option.words) words += (words.empty() ? "" : "|") + word;
    made += ".TP\n\\fB" + plain(names) + "\\fR";
    if (!option.value.empty() && !option.positional)
      made += " \\fI" + plain(words.empty() ? option.value : words) + "\\fR";
    made += "\n" + plain(option.text) + "\n";
  }
  return made;
}

std::string examples_of(const CommandHelp& command) {
  return command.examples.empty() ? "" : ".PP\n.nf\n" + plain(command.examples) + "\n.fi\n";
}

std::string usage_of(const CommandHelp& command) {
  std::string made = "[\\fIoptions\\fR]";
  for (const auto& option : command.options)
    if (option.positional) made += " \\fI" + plain(option.names.front()) + "\\fR";
  return made;
}

/// Visits the commands that have no others below them, with the names of those above.
template <class Visit>
void for_each_command(const CommandHelp& above, const std::string& path, const Visit& visit) {
  for (const auto& command : above.commands) {
    const auto name = path + " " + command.name;
    if (command.commands.empty())
      visit(name, command);
    else
      for_each_command(command, name, visit);
  }
}

}  // namespace

std::string manual_page(const CommandHelp& program, const std::string& version) {
  std::string upper;
  for (const char c : program.name) upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  std::string made = ".TH " + upper + " 1 \"\" \"" + plain(program.name + " " + version) + "\"\n.SH NAME\n" +
                     plain(program.name) + " \\- " + plain(program.text) + "\n.SH SYNOPSIS\n";
  for_each_command(program, program.name, [&](const std::string& name, const CommandHelp& command) {
    made += ".B " + plain(name) + "\n" + usage_of(command) + "\n.br\n";
  });
  made += ".SH OPTIONS\n" + options_of(program) + ".SH COMMANDS\n";
  for_each_command(program, program.name, [&](const std::string& name, const CommandHelp& command) {
    made += ".SS " + plain(name) + "\n" + plain(command.text) + "\n" + options_of(command) + examples_of(command);
  });
  return made + (program.examples.empty() ? "" : ".SH EXAMPLES\n" + examples_of(program)) +
         ".SH EXIT STATUS\n0: done. 2: the input is wrong; each problem stands in one line on stderr, nothing was "
         "written. "
         "70: an error of the program. 71: the machine has no memory, process or thread left.\n"
         ".SH ENVIRONMENT\n.TP\n\\fBLOCKSTEP_DATA\\fR\nthe folder that holds the catalog, instead of the one that the "
         "program was installed with\n";
}

}  // namespace lockstep::commands
