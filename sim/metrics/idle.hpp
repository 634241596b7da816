#pragma once
/// Why the ranks of a pipeline wait, one rank after the other: the pieces of all ranks of a long step would fill as
/// much memory as its timeline.
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/metrics/metrics.hpp"

namespace lockstep::metrics {

/// Calls `visit` with the pieces of each of the ranks and with why it waits. The pieces are gone after the call.
void for_each_idle(const workloads::StepGraph& step, const workloads::StepPipeline& pipeline,
                   const program::Program& program, const timeline::Timeline& timeline,
                   const std::vector<std::int32_t>& ranks,
                   const std::function<void(const RankPieces&, const IdleTime&)>& visit);

}  // namespace lockstep::metrics
