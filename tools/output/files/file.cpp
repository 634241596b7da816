#include "tools/output/files/file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "sim/core/errors.hpp"
#include "sim/core/visible_text.hpp"
#include "tools/output/files/new_file.hpp"

namespace lockstep::output {
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
  if (!std::filesystem::is_directory(status)) refuse(place, at.string() + " is not a folder", "a place in a folder");
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
  // Some places have the right permissions and take no files all the same, such as /proc.
  if (!std::filesystem::exists(file, error)) const NewFile trial(file);
}

void check_folder_place(const std::filesystem::path& folder) {
  if (folder.empty()) return;
  if (folder == "-") refuse(folder, "stdout takes no folder", "a folder; ./- is one of that name");
  std::error_code error;
  auto nearest = folder;
  while (nearest.has_relative_path() && !std::filesystem::exists(nearest, error)) nearest = nearest.parent_path();
  check_open(nearest, folder);
  if (!std::filesystem::exists(folder, error)) const NewFiles trial(folder);
}

void write_file(const std::filesystem::path& file, std::string_view content) {
  NewFiles files;
  files.write(file, content);
  files.finish();
}

void make_folder(const std::filesystem::path& folder) { NewFiles(folder).finish(); }

void print(std::string_view text) {
  const auto shown = visible(text, LineFeeds::kept);
  errno = 0;
  const bool whole = std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size();
  if (!whole || std::fflush(stdout) != 0) refuse_to_write("stdout", errno);
}

}  // namespace lockstep::output
