#pragma once
/// Simulations in processes of their own: SimGrid allows one engine per process.
#include "sim/simulate.hpp"

namespace lockstep {

/// The figures of one simulation, small enough for a pipe.
struct Outcome {
  double step_s = 0, compute_s = 0, exposed_comm_s = 0, bubble_s = 0, mfu = 0;
  std::int64_t peak_bytes = 0, capacity_bytes = 0;
};

/// simulate() in a forked child. Throws what the child met: ConfigError for the user's mistakes,
/// InternalError for the rest.
[[nodiscard]] Outcome simulate_isolated(const Scenario& scenario, EngineKind engine, spdlog::logger& log);

}  // namespace lockstep
