#pragma once
/// Output of results. Files appear whole or not at all.
#include <filesystem>
#include <string_view>

namespace lockstep::output {

/// Refuses a place that cannot be written before any work is done for it; leaves nothing. "" is no place.
void check_file_place(const std::filesystem::path& file);
void check_folder_place(const std::filesystem::path& folder);

/// Throws ConfigError when the place cannot be written, OutOfRoom when the disk is full. new_file.hpp has files that
/// belong together.
void write_file(const std::filesystem::path& file, std::string_view content);
/// Makes the folder and its parents. It is a problem if something other than a folder has that path.
void make_folder(const std::filesystem::path& folder);

/// Prints to stdout. Control characters are shown as their codes, also in JSON, whose escapes have the same form.
void print(std::string_view text);

}  // namespace lockstep::output
