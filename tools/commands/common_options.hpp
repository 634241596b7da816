#pragma once
/// Options that several commands have, each in the same words.
#include <optional>
#include <string>

#include "tools/commands/command_line.hpp"

namespace lockstep::commands {

/// `--jobs`.
inline void add_jobs_option(Command& command, int& jobs) {
  command.option("--jobs", jobs, "simulations at a time").between(1, 1024).shows_default();
}

/// `--limit` of a search; `then` says what it ends with.
inline void add_limit_option(Command& command, std::optional<double>& limit, const std::string& then) {
  command.option("--limit", limit, "seconds after which the search stops, with " + then).between(0.001, 1e7);
}

/// `--json`.
inline void add_json_option(Command& command, std::string& json) {
  command.option("--json", json, "write the result as JSON to a file, or to stdout with -");
}

}  // namespace lockstep::commands
