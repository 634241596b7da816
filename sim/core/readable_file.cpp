#include "sim/core/readable_file.hpp"

#include <fstream>
#include <system_error>

namespace lockstep {

std::string why_unreadable(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found) return "no such file";
  if (error) return "the file cannot be read: " + error.message();
  if (std::filesystem::is_directory(status)) return "is a directory";
  if (!std::filesystem::is_regular_file(status)) return "is not a regular file";
  return std::ifstream(file, std::ios::binary) ? "" : "the file cannot be read";
}

}  // namespace lockstep
