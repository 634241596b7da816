#include "tools/output/file.hpp"

#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

#include "sim/core/errors.hpp"

namespace lockstep {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& place, const std::string& why, const std::string& expected) {
  throw ConfigError({{{place.string(), 0, 0}, "", "cannot be written: " + why, expected}});
}

/// The folder is there and open for writing.
void check_open(const std::filesystem::path& folder, const std::filesystem::path& place) {
  std::error_code error;
  const auto at = folder.empty() ? std::filesystem::path(".") : folder;
  const auto status = std::filesystem::status(at, error);
  if (!std::filesystem::exists(status))
    refuse(place, "there is no folder " + at.string(), "a place in a folder that exists");
  if (!std::filesystem::is_directory(status)) refuse(place, at.string() + " is no folder", "a place in a folder");
  if (::access(at.c_str(), W_OK | X_OK) != 0)
    refuse(place, std::generic_category().message(errno), "a folder that may be written");
}

}  // namespace

void check_file_place(const std::filesystem::path& file) {
  if (file.empty()) return;
  if (file == "-") refuse(file, "stdout is for --json and a schedule's --csv", "a file");
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) refuse(file, "it is a folder", "a file");
  check_open(file.parent_path(), file);
}

void check_folder_place(const std::filesystem::path& folder) {
  if (folder.empty()) return;
  std::error_code error;
  auto nearest = folder;
  while (nearest.has_relative_path() && !std::filesystem::exists(nearest, error)) nearest = nearest.parent_path();
  check_open(nearest, folder);
}

void write_file(const std::filesystem::path& file, std::string_view content) {
  auto temporary = file;
  temporary += ".tmp" + std::to_string(::getpid());
  std::error_code error;
  {
    std::ofstream stream(temporary, std::ios::binary);
    stream.write(content.data(), static_cast<std::streamsize>(content.size()));
    stream.close();
    if (!stream) {
      std::filesystem::remove(temporary, error);
      throw ConfigError(
          {{{file.string(), 0, 0}, "", "cannot be written", "a file in a folder that exists and may be written"}});
    }
  }
  std::filesystem::rename(temporary, file, error);
  if (!error) return;
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  throw ConfigError({{{file.string(), 0, 0},
                      "",
                      "cannot be written: " + error.message(),
                      "a file, not a folder, that may be replaced"}});
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder)) {
    throw ConfigError({{{folder.string(), 0, 0},
                        "",
                        "cannot be made a folder" + (error ? ": " + error.message() : std::string()),
                        "a folder that can be written"}});
  }
}

}  // namespace lockstep
