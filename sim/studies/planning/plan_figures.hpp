#pragma once
/// What a comparison of plans shows of a simulated plan.
#include <array>
#include <cstdint>
#include <optional>

#include "sim/simulate.hpp"
#include "sim/studies/planning/plan_space.hpp"

namespace lockstep::planning {

/// A simulated plan, on its critical rank.
struct PlanFigures {
  double step_s = 0, compute_s = 0, bubble_s = 0;
  std::array<double, plan_axes.size() + 1> exposed_s{};  ///< by axis; the last: over several axes
  double mfu = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t weights_bytes = 0, gradients_bytes = 0, optimizer_bytes = 0, activations_bytes = 0, other_bytes = 0;
};

/// A scenario's plan as `lockstep run` would simulate it. SimGrid's engine is one for each process.
[[nodiscard]] PlanFigures simulated_figures(const scenario::Scenario& scenario, engine::EngineKind engine,
                                            spdlog::logger& log);
/// The same in a process of its own. Throws ConfigError for what the scenario asks for and cannot have.
[[nodiscard]] PlanFigures figures_in_child(const scenario::Scenario& scenario, engine::EngineKind engine,
                                           spdlog::logger& log);
/// The plan that a scenario's file itself asks for, to compare others with; our own solver shares its links as SimGrid
/// does, to 1e-9. None if the file asks for none, or for something that does not go together.
[[nodiscard]] std::optional<PlanFigures> figures_of_file(const scenario::Scenario& scenario, engine::EngineKind engine,
                                                         spdlog::logger& log);

}  // namespace lockstep::planning
