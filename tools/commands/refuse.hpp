#pragma once
#include <string>

#include "sim/core/errors.hpp"

namespace lockstep::commands {

/// A mistake in an option or a file that a command was given, which has no line.
[[noreturn]] inline void refuse(const std::string& where, const std::string& what, const std::string& expected) {
  throw ConfigError({{{where, 0, 0}, "", what, expected}});
}

}  // namespace lockstep::commands
