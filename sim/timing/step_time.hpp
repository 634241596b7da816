#pragma once
/// The time of a step and nothing else, in a fraction of the time of `simulate`: compute steps that follow each other
/// are joined (joined_steps.hpp), and periods that repeat in the middle of a pipeline are counted instead of simulated
/// (steady_periods.hpp). The result agrees with `simulate` to rounding; neither memory nor names of operations are
/// left.
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/preparation/preparation.hpp"

namespace lockstep::timing {

/// The layers of a model with joined steps, for step_time.
[[nodiscard]] workloads::ShardedLayers joined_layers(const scenario::Scenario& scenario,
                                                     const preparation::ShardedModel& model);

/// `joined`: joined_layers of the same scenario and model. SimGrid's place is taken by the max-min engine, since many
/// such steps are simulated in one process. Throws ConfigError as `prepare` does.
[[nodiscard]] Seconds step_time(const scenario::Scenario& scenario, const preparation::Machine& machine,
                                const preparation::ShardedModel& model, const workloads::ShardedLayers& joined,
                                engine::EngineKind engine, spdlog::logger& log);

}  // namespace lockstep::timing
