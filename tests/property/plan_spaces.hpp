#pragma once
/// Scenarios of a few chips whose plans can all be simulated.
#include <algorithm>
#include <cctype>
#include <ostream>
#include <string>
#include <vector>

#include "sim/studies/planning/plan_search.hpp"

namespace lockstep::test {

/// A scenario as text: model, cluster, batch and what may be chosen.
struct SpaceCase {
  std::string name, text;
  [[nodiscard]] scenario::Scenario load() const;
  friend void PrintTo(const SpaceCase& space, std::ostream* out) { *out << space.name; }
};

/// As a test's name.
inline constexpr auto name_of_space = [](const auto& info) {
  std::string name = info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
};

/// Small spaces, each for a search of its own: 104 of them.
[[nodiscard]] std::vector<SpaceCase> small_spaces();
/// Spaces of thousands of plans: dense and mixed models, tori and networks, all models of time and kinds of schedule.
[[nodiscard]] std::vector<SpaceCase> wide_spaces();

/// All plans of a space simulated, in canonical order.
[[nodiscard]] std::vector<planning::RankedPlan> all_simulated(const planning::PlanSpace& space,
                                                              const std::vector<planning::PlanChoice>& plans);

}  // namespace lockstep::test
