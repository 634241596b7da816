#pragma once
/// The time that a candidate placement of the mesh costs a step, by closed forms. Placements are chosen by it.
#include "sim/preparation/preparation.hpp"

namespace lockstep::preparation {

/// Every block's passes as if they ran alone: compute in its order, activation collectives where they are waited for,
/// weight gathers and gradient reductions beside them; a tenth of all communication on top, since what is hidden still
/// takes bandwidth from the rest. Once a step: what follows the last microbatch and the update.
[[nodiscard]] Seconds placement_cost(const scenario::Scenario& scenario, const ShardedModel& model,
                                     const topologies::Mesh& mesh, collectives::TriedGroups& tried);

}  // namespace lockstep::preparation
