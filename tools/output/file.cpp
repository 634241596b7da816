#include "tools/output/file.hpp"

#include <unistd.h>

#include <fstream>
#include <string>
#include <system_error>

#include "sim/core/errors.hpp"

namespace lockstep {

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
      throw ConfigError({{{file.string(), 0, 0}, "", "cannot be written", "a file in a folder that exists and may be written"}});
    }
  }
  std::filesystem::rename(temporary, file, error);
  if (!error) return;
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  throw ConfigError({{{file.string(), 0, 0}, "", "cannot be written: " + error.message(), "a file, not a folder, that may be replaced"}});
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder)) {
    throw ConfigError({{{folder.string(), 0, 0}, "", "cannot be made a folder" + (error ? ": " + error.message() : std::string()), "a folder that can be written"}});
  }
}

}  // namespace lockstep
