#pragma once
/// Steps as a distribution: one step simulated under many draws of all that varies, and under the same draws of each
/// cause alone. docs/howto/good_and_bad_weeks.md
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/preparation/preparation.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/step_draws.hpp"

namespace lockstep {

struct StepOfCause {
  std::string name;
  StepDraws steps;  ///< with this cause alone; as many as were drawn of it
};

/// How steps of many replicas were simulated (sim/slowest_replica.hpp).
struct ReplicaDraws {
  std::int64_t replicas = 0;          ///< groups of ranks that meet only before their first pass and after their last
  std::int64_t ranks_of_replica = 0;  ///< the most
  std::int64_t simulated = 0;         ///< replicas, over all draws
  double estimate_error = 0;          ///< the largest difference of an estimate from its simulation, over the latter
  double left_out = 0;  ///< the most by which a replica that was not simulated may be slower than the step that is told
};

struct StepDistribution {
  Seconds healthy{0};              ///< without variations; of the rest that is drawn, as the scenario's seeds have it
  StepDraws steps;                 ///< all causes together
  std::vector<StepOfCause> alone;  ///< where asked for
  std::optional<ReplicaDraws> by_replica;  ///< none: every draw was simulated whole

  /// What a cause adds to the mean step; the causes of a step do not add up, since it waits for the slowest.
  [[nodiscard]] Seconds added(const StepOfCause& cause) const;
};

enum class DrawnSteps {
  automatic,  ///< whole where that is cheap, otherwise by replicas
  whole,      ///< every rank of every draw
  by_replica
};

struct DistributionOptions {
  int draws = 0;
  engine::EngineKind engine = engine::EngineKind::automatic;
  bool fold = true;
  DrawnSteps how = DrawnSteps::automatic;
  std::function<void(std::string_view stage, double fraction)> progress;  ///< may be empty
  bool each_alone = true;                                                 ///< false: only all causes together
  /// Where several processes share the draws of all causes together: those from `first` on, before `last`.
  struct Part {
    int first = 0, last = 0;
  };
  std::optional<Part> part{};  ///< none: all draws
};

/// `prepared` and `healthy`: the scenario's, without its variations. Throws ConfigError for a scenario in which nothing
/// varies.
[[nodiscard]] StepDistribution step_distribution(const scenario::Scenario& scenario,
                                                 const preparation::Preparation& prepared, Seconds healthy,
                                                 const DistributionOptions& options, spdlog::logger& log);

}  // namespace lockstep
