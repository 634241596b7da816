// What the program tells a shell and `man` about itself. Packages install it; a user of the build tree can load it.
#include <memory>

#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/output/files/file.hpp"

namespace lockstep::commands {

void add_completion(CommandLine& line) {
  auto command = line.command("completion", "print a script that completes commands, options and words in a shell");
  auto shell = std::make_shared<std::string>();
  command.option("shell", *shell, "the shell").required().one_of(shells_with_completion());
  command.footer("Example:\n  source <(lockstep completion bash)");
  command.callback([shell, &line] { output::print(completion(line.help(), *shell)); });
}

void add_manual(CommandLine& line, const std::string& version) {
  auto command = line.command("manual", "print the manual page of all commands, for man");
  command.footer("Example:\n  lockstep manual | man -l -");
  command.callback([version, &line] { output::print(manual_page(line.help(), version)); });
}

}  // namespace lockstep::commands
