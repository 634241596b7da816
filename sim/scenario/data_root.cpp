#include <cstdlib>
#include <system_error>

#include "sim/scenario/scenario.hpp"

namespace lockstep::scenario {

std::filesystem::path data_root() {
  if (const char* given = std::getenv("LOCKSTEP_DATA"); given != nullptr && *given != '\0') return given;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path places[] = {program.parent_path().parent_path() / "share" / "lockstep",
                                          LOCKSTEP_BUILT_FROM, LOCKSTEP_INSTALLED_DATA};
  for (const auto& place : places)
    if (std::filesystem::exists(place / "topologies" / "catalog", error)) return place;
  return places[0];
}

}  // namespace lockstep::scenario
