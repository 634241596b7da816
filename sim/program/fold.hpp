#pragma once
/// Exact symmetry folding. An SPMD step on thousands of ranks is mostly symmetric; the coarsest equitable
/// partition of ranks, groups, flows and links is found by colour refinement, and one representative per
/// class is simulated. It is exact, not an approximation: docs/models/folding.md.
#include <cstdint>
#include <vector>

#include "sim/program/program.hpp"

namespace lockstep::program {

/// Which class each rank of the whole program belongs to.
struct RankClasses {
  std::vector<std::int32_t> class_of_rank;
  std::vector<std::int32_t> representative;  ///< by class: its lowest rank
  std::vector<std::int32_t> size;            ///< by class: how many ranks
  [[nodiscard]] std::int32_t count() const { return static_cast<std::int32_t>(size.size()); }
};

/// Which links of the whole program each link of the folded one stands for.
struct LinkClasses {
  std::vector<std::int32_t> representative;  ///< by class: its lowest link
  std::vector<std::int32_t> size;            ///< by class: how many links
};

struct FoldedProgram {
  Program program;  ///< ranks are rank classes, links are link classes
  RankClasses ranks;
  std::int32_t link_classes = 0;  ///< classes among links that any flow crosses
  std::int32_t links = 0;         ///< links of the whole program
  LinkClasses link_members;
};

/// Which links tell classes apart: those that can shape a rate, or all. All are needed only where capacities change
/// after folding.
enum class FoldedLinks { that_can_fill, all };
/// The quotient of a program. A flow of class f crosses the one link of class l as often as flows of class
/// f cross each real link of that class, so link shares are those of the whole.
[[nodiscard]] FoldedProgram fold(Program whole, FoldedLinks links = FoldedLinks::that_can_fill);
/// The trivial partition: every rank its own class.
[[nodiscard]] FoldedProgram unfolded(Program whole);

}  // namespace lockstep::program
