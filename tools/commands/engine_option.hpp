#pragma once
/// `--engine` of every command that simulates.
#include <string>

#include "sim/engine/engine.hpp"
#include "tools/commands/command_line.hpp"

namespace lockstep::commands {

inline void add_engine_option(Command& command, std::string& engine) {
  command
      .option(
          "--engine", engine,
          "engine that shares links among flows: simgrid, max_min (our own solver, the same result; automatic takes it "
          "where ranks differ), or reference (closed forms, no contention)")
      .one_of(engine::engine_names())
      .shows_default();
}

}  // namespace lockstep::commands
