#pragma once
/// Simulations in processes of their own: SimGrid allows one engine per process.
#include <functional>
#include <string>

#include "sim/simulate.hpp"

namespace lockstep {

/// Runs `work` in a forked child and hands back its text. Throws what the child threw: ConfigError for the user's
/// mistakes, InternalError for the rest.
[[nodiscard]] std::string in_child(const std::function<std::string()>& work);

/// The figures of one simulation, small enough for a pipe.
struct Outcome {
  double step_s = 0, compute_s = 0, exposed_comm_s = 0, bubble_s = 0, mfu = 0;
  std::int64_t peak_bytes = 0, capacity_bytes = 0;
};

/// simulate() in a child.
[[nodiscard]] Outcome simulate_isolated(const Scenario& scenario, EngineKind engine, spdlog::logger& log);

}  // namespace lockstep
