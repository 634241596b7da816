#pragma once
#include <filesystem>
#include <string>

#include "sim/core/errors.hpp"

namespace lockstep::commands {

/// A mistake in an option or a file that a command was given, which has no line.
[[noreturn]] inline void refuse(const std::string& where, const std::string& what, const std::string& expected) {
  throw ConfigError({{{where, 0, 0}, "", what, expected}});
}

/// A file that would be written over one that the command reads.
inline void refuse_to_overwrite(const std::filesystem::path& input, const std::filesystem::path& target) {
  std::error_code unreadable;
  if (!target.empty() && std::filesystem::equivalent(input, target, unreadable))
    refuse(target.string(), "is what the command reads", "another file to write");
}

}  // namespace lockstep::commands
