#pragma once
/// The points of a sweep simulated in processes of their own and kept in a database.
#include <functional>
#include <vector>

#include "sim/engine/engine.hpp"
#include "tools/sweep/store.hpp"

namespace spdlog {
class logger;
}

namespace lockstep::sweep {

struct SweepOptions {
  int jobs = 1;  ///< processes at a time
  std::int64_t shard = 0, shards = 1;
  engine::EngineKind engine = engine::EngineKind::max_min;  ///< runs several points in a process; SimGrid runs one
  bool keep_results = false;                                ///< result.json of every point too
};

/// Points of the shard that the database does not have, equal ones once.
[[nodiscard]] std::vector<std::int64_t> points_to_do(const Sweep& sweep, const SweepStore& store,
                                                     const SweepOptions& options);

/// Called after every point with the numbers of points done and to do, and the last point's status.
using SweepProgress = std::function<void(std::size_t done, std::size_t all, PointResult::Status status)>;

/// Simulates points, `jobs` at a time; `take` gets results as they come, in any order.
void simulate_points(const Sweep& sweep, const std::vector<std::int64_t>& points, const SweepOptions& options,
                     spdlog::logger& log, const std::function<void(std::int64_t point, PointResult result)>& take);

/// All points that are to do. Throws OutOfRoom when the database cannot take more; what is stored stays.
void run_sweep(const Sweep& sweep, SweepStore& store, const SweepOptions& options, const SweepProgress& progress,
               spdlog::logger& log);

/// A result as text and back, for another process.
[[nodiscard]] std::string to_text(const PointResult& result);
[[nodiscard]] PointResult result_in(std::string_view text);

}  // namespace lockstep::sweep
