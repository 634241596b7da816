#pragma once
/// The time below which no engine runs a program, in one pass over its operations instead of a simulation.
///
/// With every group of a collective alone on the network, a step takes at least as long as
///   1. its longest path of operations that wait for each other;
///   2. for each stream of a rank, the operations that it runs one after the other: of those from any date on, that
///   date,
///      their sum, and the shortest path that follows one of them;
///   3. for each link, likewise, the bytes that all groups carry over it;
///   4. for a stream whose kernels run at 1/s of their speed beside collectives: C, what they take alone, and
///      (1 - 1/s) B, where B is the time of the collectives of one stream of that rank that run between the shortest
///      paths before and after the kernels.
/// No group is faster than alone, whatever else is on its links and whichever operation goes first, so this holds for
/// every order (docs/models/collectives.md, "Phases of sibling groups"). Docs: docs/howto/design_a_network.md.
#include <functional>
#include <optional>

#include "sim/program/program.hpp"

namespace lockstep::design_networks {

/// What an operation takes at least in seconds, where that is known better than from its own program.
using LeastTime = std::function<std::optional<double>(const program::ProgramOp&)>;

/// `whole`: a program of all ranks, not a folded one.
[[nodiscard]] Seconds step_bound(const program::Program& whole, const LeastTime& known = {});

}  // namespace lockstep::design_networks
