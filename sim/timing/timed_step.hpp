#pragma once
/// StepGraph -> Program -> Timeline, folded in space (one rank of each class, sim/program/fold.hpp) and in time
/// (steady_periods.hpp). Every command that times a step goes this way.
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/metrics/local_updates.hpp"
#include "sim/preparation/preparation.hpp"
#include "sim/program/known_folds.hpp"

namespace lockstep::timing {

/// A step as an engine ran it. If a part of it repeats, graph and program have fewer microbatches than the scenario,
/// and the timeline knows how often the part comes (timeline::Repetition).
struct TimedStep {
  workloads::StepGraph step;
  program::FoldedProgram folded;
  engine::EngineResult run;
  double fold_seconds = 0;                               ///< real time spent on folding ranks into classes
  std::optional<metrics::LocalUpdates> local_updates{};  ///< where sites train apart; the step is then an inner one
  /// Mean over the period of local updates.
  [[nodiscard]] Seconds step_time() const;
};

struct TimingOptions {
  engine::EngineOptions engine;
  bool fold = true;  ///< false: every rank and every microbatch is simulated; same spans, much more work
  program::KnownFolds* folds = nullptr;  ///< of earlier steps, for who times many
  /// Most operations of all classes of ranks that are simulated; 0: no limit.
  std::int64_t most_operations = 0;
};

/// Thrown instead of simulating more than TimingOptions::most_operations.
struct TooManyOperations : std::runtime_error {
  TooManyOperations(std::int32_t of_ranks, Bytes of_rank);
  std::int32_t classes;  ///< of ranks
  Bytes held;            ///< weights and optimizer state of a rank, the most of all stages
};

/// Whether kernels and collectives slow each other down: each kernel's time then depends on what runs beside it.
[[nodiscard]] bool kernels_slow_down(const scenario::Scenario& scenario);

/// `prepared`: what preparation::prepare made of the scenario. `layers` are those of its model, joined or not, and
/// `options` are for building the step. Throws ConfigError as `prepare` does.
[[nodiscard]] TimedStep timed_step(const scenario::Scenario& scenario, const preparation::Preparation& prepared,
                                   const workloads::ShardedLayers& layers, const workloads::StepOptions& options,
                                   const TimingOptions& timing, spdlog::logger& log);

}  // namespace lockstep::timing
