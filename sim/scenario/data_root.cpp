#include <cstdlib>
#include <system_error>

#include "sim/scenario/scenario.hpp"

namespace lockstep::scenario {

std::filesystem::path data_root() {
  if (const char* given = std::getenv("LOCKSTEP_DATA"); given != nullptr && *given != '\0') return given;
  const std::filesystem::path source = LOCKSTEP_BUILT_FROM;
  std::error_code error;
  if (std::filesystem::exists(source / "topologies" / "catalog", error)) return source;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "share" / "lockstep";
}

}  // namespace lockstep::scenario
