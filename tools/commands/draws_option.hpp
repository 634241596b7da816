#pragma once
/// `--draws` of every command that shows steps as a distribution.
#include <cstdint>
#include <string>

#include "tools/commands/command_line.hpp"

namespace lockstep::commands {

inline Option add_draws_option(
    Command& command, std::int32_t& draws,
    const std::string& text =
        "simulate this many steps, each with its own variations of chips, links, documents, experts and paths: "
        "the median, the 5th and the 95th percentile, and what each cause adds") {
  return command.option("--draws", draws, text).between(2, 100'000);
}

}  // namespace lockstep::commands
