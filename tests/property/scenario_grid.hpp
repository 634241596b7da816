#pragma once
/// The enumerated grid of small steps that every property is held to.
#include <ostream>
#include <string>
#include <vector>

#include "tests/property/simulated_step.hpp"

namespace lockstep::test {

/// One torus and all that is tried on it.
struct GridRow {
  std::string name;     ///< letters and digits
  std::string cluster;  ///< "tpu-v5p:4x4"
  std::vector<Case> cases;
  friend void PrintTo(const GridRow& row, std::ostream* out) { *out << row.cluster; }
};

/// Every torus x every layout that it holds (mesh, sizes, ZeRO stage, sequence parallelism) x both models, each
/// with a few settings of the schedule, dealt out so that all settings occur with all kinds of layout.
[[nodiscard]] const std::vector<GridRow>& grid();

}  // namespace lockstep::test
