#include "tools/output/elements/png.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "sim/core/errors.hpp"
#include "tools/output/files/file.hpp"

extern char** environ;

namespace lockstep::output {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what, const std::string& expected) {
  throw ConfigError({{{file.string(), 0, 0}, "", what, expected}});
}

bool installed() {
  const char* path = std::getenv("PATH");
  std::string folders = path != nullptr ? path : "";
  for (std::size_t start = 0; start <= folders.size();) {
    const auto end = std::min(folders.find(':', start), folders.size());
    if (::access((folders.substr(start, end - start) + "/rsvg-convert").c_str(), X_OK) == 0) return true;
    start = end + 1;
  }
  return false;
}

/// Runs rsvg-convert from a file into an open one.
bool convert(const std::string& from, int to) {
  const std::array<const char*, 5> arguments = {"rsvg-convert", "--zoom=2", "--background-color=white", from.c_str(),
                                                nullptr};
  ::posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
  pid_t child = 0;
  const int spawned =
      ::posix_spawnp(&child, arguments[0], &actions, nullptr, const_cast<char**>(arguments.data()), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (spawned != 0) return false;
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// rsvg-convert does not say why it failed; whether another byte can be written does.
void refuse_where_full(NewFile& file) { file.write(std::string(std::size_t{1} << 16U, '\0')); }

}  // namespace

void check_png_writer(const std::filesystem::path& file) {
  if (!file.empty() && !installed())
    refuse(file, "rsvg-convert is not installed", "Debian's package librsvg2-bin, or the SVG alone");
}

void check_picture_place(const std::filesystem::path& file) {
  if (file.empty()) return;
  if (file.extension() != ".svg" && file.extension() != ".png")
    refuse(file, "is neither .svg nor .png", "a picture's name, such as errors.svg");
  check_file_place(file);
  check_png_writer(file.extension() == ".png" ? file : "");
}

void write_png(NewFiles& files, const std::filesystem::path& file, std::string_view svg) {
  check_png_writer(file);
  NewFile from(file.string() + ".svg");
  from.write(svg);
  from.close();
  auto& to = files.open(file);
  if (convert(from.written_at().string(), to.handle())) return to.close();
  refuse_where_full(to);
  refuse(file, "rsvg-convert could not write it", "the SVG alone");
}

void write_picture_file(const std::filesystem::path& file, std::string_view svg) {
  NewFiles files;
  if (file.extension() == ".png") {
    write_png(files, file, svg);
  } else {
    files.write(file, svg);
  }
  files.finish();
}

void write_picture(NewFiles& files, const std::filesystem::path& place, std::string_view svg, bool png) {
  files.write(place.string() + ".svg", svg);
  if (png) write_png(files, place.string() + ".png", svg);
}

}  // namespace lockstep::output
