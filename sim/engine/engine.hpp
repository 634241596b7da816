#pragma once
/// Running a Program. All engines share one DAG runtime (streams, priorities, readiness) and differ only in the time of
/// a collective's phases: closed forms, or flows on a max-min network.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"

namespace spdlog {
class logger;
}

namespace lockstep::engine {

enum class EngineKind {
  automatic,  ///< max_min for an irregular program or where SimGrid is not installed, otherwise simgrid
  simgrid,    ///< flows on SimGrid's max-min network; one run per process
  max_min,    ///< the same sharing of links by our own solver, any number of runs in one process
  reference   ///< closed forms, no contention
};

/// Names as `--engine` takes them, in that order.
[[nodiscard]] std::vector<std::string> engine_names();
[[nodiscard]] std::string_view name(EngineKind kind);
/// The engine with one of engine_names().
[[nodiscard]] EngineKind engine_named(std::string_view name);

/// Loads what this engine needs; run() does so too. A process that forks a child for each run calls this first, or
/// every child would load SimGrid again. Throws ConfigError for simgrid where its module is missing.
void load(EngineKind kind);

struct EngineStatistics {
  std::int64_t activities = 0;  ///< compute operations and flows over all ranks and groups
  std::int64_t flows = 0;
  double wall_seconds = 0;  ///< real time spent in the engine
};

struct EngineOptions {
  EngineKind kind = EngineKind::automatic;
  /// Called now and then with the fraction of operations done; may be empty.
  std::function<void(double)> progress;
  bool record_phases = false;  ///< keep when the flows of every phase ran; the reference engine has none
  bool chains = true;          ///< operations that follow each other at once run as one; false: same spans, more work
};

struct EngineResult {
  timeline::Timeline timeline;
  EngineStatistics statistics;
  std::vector<timeline::PhaseSpan> phases;  ///< in the order in which they ended, if recorded
  EngineKind kind = EngineKind::simgrid;    ///< that ran, never automatic
};

/// A symmetric program has one rank, or a few, for each stage of its pipeline; where chips or links differ it has
/// hundreds. SimGrid then shares out all that hangs together again and again, max_min only what a change touches.
[[nodiscard]] bool is_irregular(const program::Program& program);
/// The engine that runs a program: `kind`, or the one that suits it.
[[nodiscard]] EngineKind chosen(EngineKind kind, const program::Program& program);

/// Runs `program` once. A collective starts when all members are ready for it and all their streams
/// are free; among those that can start at one instant, lower priority value first, then program
/// order, then group order. All completions at one instant are taken in before anything starts.
/// Throws InternalError when operations remain that can never start.
/// SimGrid's engine is one per process: a second SimGrid run in a process throws InternalError.
[[nodiscard]] EngineResult run(const program::Program& program, const EngineOptions& options, spdlog::logger& log);

}  // namespace lockstep::engine
