#include "tools/output/png.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "sim/core/errors.hpp"
#include "tools/output/file.hpp"

extern char** environ;

namespace lockstep {
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

/// Runs rsvg-convert on two temporary files.
bool convert(const std::string& from, const std::string& to) {
  std::array<const char*, 7> arguments = {"rsvg-convert", "--zoom=2", "--background-color=white", "-o", to.c_str(), from.c_str(), nullptr};
  pid_t child = 0;
  if (::posix_spawnp(&child, arguments[0], nullptr, nullptr, const_cast<char**>(arguments.data()), environ) != 0) return false;
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

void check_png_writer(const std::filesystem::path& file) {
  if (!file.empty() && !installed()) refuse(file, "rsvg-convert is not installed", "Debian's package librsvg2-bin, or the SVG alone");
}

void check_picture_place(const std::filesystem::path& file) {
  if (file.empty()) return;
  if (file.extension() != ".svg" && file.extension() != ".png") refuse(file, "is neither .svg nor .png", "a picture's name, such as errors.svg");
  check_file_place(file);
  check_png_writer(file.extension() == ".png" ? file : "");
}

void write_png(const std::filesystem::path& file, std::string_view svg) {
  check_png_writer(file);
  const auto from = file.string() + ".tmp.svg";
  const auto to = file.string() + ".tmp.png";
  write_file(from, svg);
  const bool done = convert(from, to);
  std::error_code ignored;
  std::filesystem::remove(from, ignored);
  if (done) std::filesystem::rename(to, file, ignored);
  if (!done || ignored) {
    std::filesystem::remove(to, ignored);
    refuse(file, "rsvg-convert could not write it", "a place with room, or the SVG alone");
  }
}

void write_picture(const std::filesystem::path& place, std::string_view svg, bool png) {
  write_file(place.string() + ".svg", svg);
  if (png) write_png(place.string() + ".png", svg);
}

}  // namespace lockstep
