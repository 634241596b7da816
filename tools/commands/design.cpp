// What is designed for scenarios by a search with bounds.
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"

namespace lockstep::commands {

void add_design(CommandLine& line, spdlog::logger& log) {
  auto command =
      line.command("design", "search for the network worth its price, and for the best places of ranks and experts");
  add_design_network(command, log);
  add_design_placement(command, log);
  add_design_experts(command, log);
}

}  // namespace lockstep::commands
