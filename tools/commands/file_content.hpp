#pragma once
/// The text of a file that was read before, for pages that hold their inputs.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace lockstep::commands {

[[nodiscard]] inline std::string content_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return std::move(text).str();
}

}  // namespace lockstep::commands
