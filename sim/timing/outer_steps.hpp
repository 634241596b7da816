#pragma once
/// The outer steps of local updates: a period has H inner steps, beside which the fragments are reduced one after the
/// other, each beside tau of them.
///   mean step = T + sum over fragments f of (W_f - tau T) / H
///   T    an inner step with no reduction under way
///   W_f  tau inner steps with the outer step of f beside them, on the same chips and links
/// docs/models/local_updates.md
#include "sim/metrics/local_updates.hpp"
#include "sim/timing/timed_step.hpp"

namespace lockstep::timing {

/// Arguments as of timed_step; `inner_step`: T. Fragments whose outer steps do the same are simulated once, by max_min
/// or reference. Throws ConfigError where so many steps beside a reduction are too many to simulate.
[[nodiscard]] metrics::LocalUpdates outer_steps(const scenario::Scenario& scenario,
                                                const preparation::Preparation& prepared,
                                                const workloads::ShardedLayers& layers,
                                                const workloads::StepOptions& options, const TimingOptions& timing,
                                                Seconds inner_step, spdlog::logger& log);

}  // namespace lockstep::timing
