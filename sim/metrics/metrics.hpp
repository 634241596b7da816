#pragma once
/// What a timeline means. Definitions: docs/models/metrics.md.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"
#include "workloads/step_graph.hpp"

namespace lockstep {

/// Of one rank; the three add up to the makespan.
struct Breakdown {
  Seconds compute{0};       ///< computing
  Seconds exposed_comm{0};  ///< communicating while computing nothing
  Seconds bubble{0};        ///< neither
};

/// One rank's communication of one kind on one set of mesh axes.
struct CommunicationUse {
  std::string axis;  ///< "fsdp", "fsdp+tensor"
  CollectiveKind kind;
  std::int64_t count = 0;
  Bytes full_size{0};  ///< of all of them together
  Seconds busy{0};     ///< sum of their spans
  Seconds exposed{0};  ///< their share of exposed_comm: at any instant it goes to the one that started first
};

struct MemoryUse {
  Bytes peak{0};
  Bytes capacity{0};
  bool fits = true;
  Bytes weights{0}, gradients{0}, optimizer{0}, activations{0}, other{0};  ///< at the peak; they add up to it
  Seconds peak_at{0};
  Bytes weight_padding{0};
};

/// Memory of one rank from an instant on, until the next point of its curve.
struct MemoryPoint {
  Seconds time{0};
  Bytes weights{0}, gradients{0}, optimizer{0}, activations{0}, other{0};
  [[nodiscard]] Bytes total() const { return weights + gradients + optimizer + activations + other; }
};

struct Metrics {
  Seconds step_time{0};
  std::int64_t chips = 0;
  std::int64_t tokens = 0;
  std::int64_t parameters = 0;
  Flops model_flops{0};     ///< per step, all chips: 3 x forward, without recomputation
  Flops executed_flops{0};  ///< per step, all chips: what the ranks really compute
  FlopsPerSecond peak{0};   ///< of one chip at the step's precision
  std::int32_t critical_rank = 0;  ///< lane of the program as run (a rank class): the first of those that end last
  Breakdown breakdown;             ///< of the critical rank
  std::vector<CommunicationUse> communication;  ///< of the critical rank, by axis and kind
  MemoryUse memory;

  [[nodiscard]] double tokens_per_second() const;
  [[nodiscard]] double mfu() const;  ///< model FLOPs / (chips x peak x step time)
  [[nodiscard]] double hfu() const;  ///< executed FLOPs / (chips x peak x step time)
};

[[nodiscard]] Breakdown breakdown_of(const Program& program, const Timeline& timeline, std::int32_t rank);
[[nodiscard]] std::vector<CommunicationUse> communication_of(const StepGraph& step, const Program& program, const Timeline& timeline,
                                                             std::int32_t rank);
/// Memory of one rank over the step, from time 0, a point for every instant at which it changes: weights and
/// optimizer state throughout, buffers as they come and go.
[[nodiscard]] std::vector<MemoryPoint> memory_curve(const StepGraph& step, const Timeline& timeline, std::int32_t rank);
/// The highest point of that curve, the first if there are several.
[[nodiscard]] MemoryUse memory_of(const StepGraph& step, const Timeline& timeline, std::int32_t rank, Bytes capacity);
/// The rank that sets the step time: the lowest-numbered of those whose last span ends at the makespan.
[[nodiscard]] std::int32_t critical_rank(const Timeline& timeline);

}  // namespace lockstep
