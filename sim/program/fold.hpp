#pragma once
/// Exact symmetry folding. An SPMD step on thousands of ranks is mostly symmetric; the coarsest equitable
/// partition of ranks, groups, flows and links is found by colour refinement, and one representative per
/// class is simulated. It is exact, not an approximation: docs/models/folding.md.
#include <cstdint>
#include <vector>

#include "sim/program/program.hpp"

namespace lockstep::program {

using RankClassId = std::int32_t;  ///< of ranks; a rank of the folded program
using LinkClassId = std::int32_t;  ///< of links; a link of the folded program

/// Which class each rank of the whole program belongs to.
struct RankClasses {
  Indexed<topologies::RankId, RankClassId> class_of_rank;
  Indexed<RankClassId, topologies::RankId> representative;  ///< the lowest rank of the class
  Indexed<RankClassId, std::int32_t> size;                  ///< how many ranks
  [[nodiscard]] std::int32_t count() const { return size.count(); }
};

/// Which links of the whole program each link of the folded one stands for.
struct LinkClasses {
  Indexed<LinkClassId, topologies::LinkId> representative;  ///< the lowest link of the class
  Indexed<LinkClassId, std::int32_t> size;                  ///< how many links
  Indexed<topologies::LinkId, LinkClassId> class_of_link;
};

struct FoldedProgram {
  Program program;  ///< ranks are rank classes, links are link classes
  RankClasses ranks;
  std::int32_t link_classes = 0;  ///< classes among links that any flow crosses
  std::int32_t links = 0;         ///< links of the whole program
  LinkClasses link_members;
};

/// The links by which ranks are put into classes: only those that can limit a rate, or all. All links are needed only
/// if capacities change after folding.
enum class FoldedLinks { that_can_fill, all };
/// The quotient of a program. A flow of class f crosses the one link of class l as often as flows of class
/// f cross each real link of that class, so link shares are those of the whole.
[[nodiscard]] FoldedProgram fold(Program whole, FoldedLinks links = FoldedLinks::that_can_fill);
/// The same; of `whole` everything is left but its operations.
[[nodiscard]] FoldedProgram fold_operations(Program& whole, FoldedLinks links = FoldedLinks::that_can_fill);
/// Moves the operations of `whole`, with all that belongs to them and not to ranks and links, into its quotient.
void take_operations(Program& whole, Program& quotient);
/// The trivial partition: every rank its own class.
[[nodiscard]] FoldedProgram unfolded(Program whole);

}  // namespace lockstep::program
