#pragma once
/// Files appear whole or not at all: written under a temporary name, then renamed.
#include <filesystem>
#include <string_view>

namespace lockstep {

/// Throws std::system_error-like ConfigError when the place cannot be written.
void write_file(const std::filesystem::path& file, std::string_view content);
/// Makes the folder (and its parents); a problem if something else stands there.
void make_folder(const std::filesystem::path& folder);

}  // namespace lockstep
