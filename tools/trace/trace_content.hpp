#pragma once
/// The content of a trace in any format: a process for each distinct rank, a lane for each of its streams, and
/// counters.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/simulate.hpp"
#include "sim/timing/whole_step.hpp"
#include "tools/trace/lanes.hpp"
#include "tools/trace/shown_ranks.hpp"

namespace lockstep::trace {

struct TraceOptions {
  int max_ranks = 16;  ///< processes; ranks with identical lanes share one
  bool flows = false;  ///< arrows from an operation to those that wait for it
};

struct TraceProcess {
  struct Lane {
    std::int32_t stream;
    std::string name;
    TraceLane spans;
  };
  std::int32_t rank;        ///< of the program as run
  std::string name;         ///< "stage 1, rank 256 (x 64)"
  std::string alike;        ///< "64 ranks alike"
  std::vector<Lane> lanes;  ///< in the order of streams; of a pipeline without those that this stage does not use
  bool shows_memory;
};

/// Load of a link over the step.
struct TraceLink {
  std::string name;
  std::vector<double> share;  ///< of its bandwidth, mean over equal parts of the step
};

class TraceContent {
 public:
  TraceContent(const Simulation& simulation, const TraceOptions& options);

  [[nodiscard]] std::size_t distinct_ranks() const { return distinct_; }
  [[nodiscard]] std::size_t processes() const { return ranks_.size(); }
  /// In the order in which they are shown.
  [[nodiscard]] TraceProcess process(std::size_t index) const;
  /// Memory of a rank, at most one point a nanosecond: the last.
  [[nodiscard]] std::vector<std::pair<std::int64_t, metrics::MemoryPoint>> memory(std::int32_t rank) const;
  /// The most used links, if phases were recorded.
  [[nodiscard]] std::vector<TraceLink> links() const;

 private:
  [[nodiscard]] bool pipelined() const { return simulation_.metrics.stages.size() > 1; }

  const Simulation& simulation_;
  std::size_t distinct_ = 0;
  std::vector<ShownRank> ranks_;
};

/// Dependencies between the spans of one rank at a time, numbered from 1 on over all ranks. An operation that takes no
/// time has nothing that an arrow could bind to.
class TraceArrows {
 public:
  using Ids = std::vector<std::int64_t>;
  explicit TraceArrows(const Simulation& simulation)
      : simulation_(simulation),
        whole_(simulation.preparation.pipeline.order, simulation.preparation.step, simulation.run.timeline) {}

  void connect(std::int32_t rank);
  /// The arrows that end, or begin, at the operation with this number in the whole step.
  [[nodiscard]] const Ids& arriving(std::int64_t number) const { return arriving_[number]; }
  [[nodiscard]] const Ids& leaving(std::int64_t number) const { return leaving_[number]; }
  /// An operation's arrows are on the first of the lanes that it occupies.
  [[nodiscard]] bool on_lane(std::int32_t op, std::int32_t stream) const {
    return simulation_.program.ops[op].streams.front() == stream;
  }

 private:
  [[nodiscard]] bool has_span(std::int32_t op, std::int32_t rank) const;

  const Simulation& simulation_;
  timing::WholeStep whole_;
  std::int64_t last_ = 0;
  Indexed<std::int64_t, Ids> arriving_, leaving_;  ///< by number, of the connected rank
};

}  // namespace lockstep::trace
