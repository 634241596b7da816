#include "sim/core/readable_file.hpp"

#include <fstream>
#include <mutex>
#include <set>
#include <system_error>

namespace lockstep {
namespace {

struct Inputs {
  std::mutex one_at_a_time;
  std::set<std::filesystem::path> files;  ///< as canonical says
};
Inputs& inputs() {
  static Inputs all;
  return all;
}

}  // namespace

bool is_input(const std::filesystem::path& file) {
  std::error_code missing;
  const auto whole = std::filesystem::canonical(file, missing);
  const std::scoped_lock lock(inputs().one_at_a_time);
  return !missing && inputs().files.contains(whole);
}

void forget_input(const std::filesystem::path& file) {
  std::error_code missing;
  const auto whole = std::filesystem::canonical(file, missing);
  const std::scoped_lock lock(inputs().one_at_a_time);
  inputs().files.erase(whole);
}

std::string why_unreadable(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found) return "no such file";
  if (error) return "the file cannot be read: " + error.message();
  if (std::filesystem::is_directory(status)) return "is a directory";
  if (!std::filesystem::is_regular_file(status)) return "is not a regular file";
  if (!std::ifstream(file, std::ios::binary)) return "the file cannot be read";
  const auto whole = std::filesystem::canonical(file, error);
  const std::scoped_lock lock(inputs().one_at_a_time);
  if (!error) inputs().files.insert(whole);
  return "";
}

}  // namespace lockstep
