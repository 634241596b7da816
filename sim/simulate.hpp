#pragma once
/// The way through: a scenario becomes a timeline by pure steps from value to value.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/metrics/elasticity.hpp"
#include "sim/metrics/metrics.hpp"
#include "sim/preparation/known_machines.hpp"
#include "sim/preparation/preparation.hpp"
#include "sim/program/fold.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/step_distribution.hpp"
#include "sim/step_draws.hpp"
#include "sim/timing/timed_step.hpp"

namespace lockstep {

struct Simulation {
  preparation::PreparedStep preparation;  ///< its step is the one that was simulated; the pipeline's order is the whole
  program::Program program;               ///< as run: its ranks are rank classes, its links link classes; of that step
  program::RankClasses ranks;             ///< which class each rank of the mesh is in
  std::int32_t link_classes = 0;
  std::int32_t links = 0;   ///< of the cluster
  double fold_seconds = 0;  ///< real time spent on folding
  engine::EngineResult run;
  metrics::Metrics metrics;
  topologies::RankId rank = 0;                   ///< whose breakdown, communication and memory `metrics` holds
  program::LinkClasses link_members;             ///< which links of the cluster each link of `program` stands for
  std::vector<metrics::Elasticity> elasticity;   ///< the strongest first; empty if not asked for (studies/sensitivity)
  std::optional<StepDraws> routing_draws;        ///< where asked for and a network of the cluster hashes
  std::optional<StepDraws> document_draws;       ///< where asked for and documents are drawn
  std::optional<StepDistribution> distribution;  ///< where asked for
};

/// How much is found out about a step that has been timed; each also what those before it find.
enum class Detail {
  totals,  ///< time, memory of every stage, and how the critical rank spends its time
  stages,  ///< how the last rank of every stage spends its time, and why it is idle
  causes   ///< communication by axis and the critical path
};

struct SimulateOptions {
  engine::EngineKind engine = engine::EngineKind::automatic;
  bool fold = true;  ///< false: every rank and every microbatch is simulated; same spans, much more work
  std::function<void(std::string_view stage, double fraction)> progress;  ///< may be empty
  bool record_phases = false;                                             ///< for link loads
  std::int64_t most_operations = 0;                                       ///< as timing::TimingOptions
  int draws = 1;  ///< seeds of each thing that is drawn to time the step under; 1: the scenario's alone
  int steps = 0;  ///< to draw of all that varies together, for a distribution; 0: none
  DrawnSteps how_drawn = DrawnSteps::automatic;
  Detail detail = Detail::causes;
};

/// What commands that show one step draw: enough to see the spread, and cheap beside the page that shows it.
inline constexpr int usual_draws = 16;

/// Scenario -> ... -> Program -> Timeline -> Metrics.
[[nodiscard]] Simulation simulate(const scenario::Scenario& scenario, const SimulateOptions& options,
                                  spdlog::logger& log);
/// The same for one of many scenarios.
[[nodiscard]] Simulation simulate(const scenario::Scenario& scenario, const SimulateOptions& options,
                                  spdlog::logger& log, preparation::KnownMachines& known);
/// The last part of simulate, from Timeline to Metrics, for a step that has been timed.
[[nodiscard]] Simulation measured(const scenario::Scenario& scenario, preparation::Preparation prepared,
                                  timing::TimedStep timed, Detail detail = Detail::causes);

/// Replaces `metrics` by those of another rank than the critical one, read from the lane of that rank's class.
void look_at(Simulation& simulation, topologies::RankId rank);

/// The metrics that need no lane of a rank: step time, model FLOPs and peak, from which MFU follows.
[[nodiscard]] metrics::Metrics measure_step(const scenario::Scenario& scenario,
                                            const preparation::Preparation& preparation,
                                            const timeline::Timeline& timeline);
/// The metrics of a step.
[[nodiscard]] metrics::Metrics measure(const scenario::Scenario& scenario, const preparation::PreparedStep& preparation,
                                       const program::Program& program, const timeline::Timeline& timeline,
                                       Detail detail = Detail::causes);

}  // namespace lockstep
