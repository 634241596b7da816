#pragma once
/// What a reader complained of, one printed problem each.
#include <string>
#include <vector>

#include "sim/core/errors.hpp"

namespace lockstep {

inline std::vector<std::string> lines_of(const Problems& problems) {
  std::vector<std::string> lines;
  for (const Problem& problem : problems.list()) lines.push_back(problem.to_string());
  return lines;
}

}  // namespace lockstep
