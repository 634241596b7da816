#pragma once
/// The time that a candidate placement of the mesh costs a step, by closed forms. Placements are chosen by it.
#include "sim/preparation/preparation.hpp"

namespace lockstep::preparation {

/// P stages of a pipeline together, all alike, with M microbatches, V chunks of a stage, and T the time of a microbatch
/// through all blocks:
///
///   cost = M T + P bubble + sum of what each block's collectives add once a step
///
/// T has every block's passes as if they ran alone: compute in its order, activation collectives where they are waited
/// for, weight gathers and gradient reductions beside them; a tenth of all communication on top, since what is hidden
/// still takes bandwidth from the rest. The bubble is the schedule's closed form.
///
/// Once a step come reductions of the last microbatch and updated weights. The first stage is the last to end its last
/// backward, the stage s behind it s backwards earlier, so that the first one's reductions decide. Of those, the chunks
/// above the first have min(P, M) passes of the next chunk to hide behind; those of the first chunk the rest of its own
/// pass, and the embedding's nothing (cost::Cover). Weights that are published ahead of the next step lie alike before
/// its first forwards.
[[nodiscard]] Seconds placement_cost(const scenario::Scenario& scenario, const ShardedModel& model,
                                     const topologies::Mesh& mesh, collectives::TriedGroups& tried);

}  // namespace lockstep::preparation
