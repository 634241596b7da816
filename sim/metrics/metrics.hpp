#pragma once
/// The figures that a timeline gives. Definitions: docs/models/metrics.md.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/metrics/critical_path.hpp"
#include "sim/metrics/local_updates.hpp"
#include "sim/metrics/memory.hpp"
#include "sim/metrics/rank_pieces.hpp"
#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"
#include "workloads/step/step_graph.hpp"
#include "workloads/step/step_pipeline.hpp"

namespace lockstep::metrics {

/// The time of one rank; the three parts add up to the makespan.
struct Breakdown {
  Seconds compute{0};       ///< computing
  Seconds exposed_comm{0};  ///< communicating while computing nothing
  Seconds bubble{0};        ///< neither
};

/// One rank's communication of one kind on one set of mesh axes.
struct CommunicationUse {
  std::string axis;                               ///< "fsdp", "fsdp+tensor"; of replayed operations the stream
  std::optional<workloads::CollectiveKind> kind;  ///< none: replayed, known only by its time
  std::int64_t count = 0;
  Bytes full_size{0};  ///< of all of them together
  Seconds busy{0};     ///< sum of their spans
  Seconds exposed{0};  ///< their share of exposed_comm: at any instant it goes to the one that started first
};

/// Why a rank of a pipeline does not compute; together with its computing this is the makespan. In what
/// follows "pass" means forwards and backwards, not the optimizer.
struct IdleTime {
  Seconds fill{0};   ///< before its first pass
  Seconds drain{0};  ///< after its last pass
  Seconds dependency{
      0};  ///< in between: other stages compute what it waits for, as far as the schedule makes even stages wait
  Seconds imbalance{0};  ///< the additional wait because stages (or their chips) are not equally fast
  Seconds transfer{0};   ///< in between: what it waits for is on its way between stages
  Seconds collective{
      0};  ///< a collective on the mesh's other axes, its own (at any time) or another stage's, is waited for
  [[nodiscard]] Seconds span_bubble() const { return dependency + imbalance + transfer; }
  [[nodiscard]] Seconds step_bubble() const { return fill + drain + span_bubble(); }
  [[nodiscard]] Seconds total() const { return step_bubble() + collective; }
};

/// One stage, seen on its rank that ends last (the first of those).
struct StageMetrics {
  std::int32_t stage = 0;
  std::int32_t rank = 0;  ///< lane of the program as run
  Breakdown breakdown;
  IdleTime idle;
  std::vector<CommunicationUse> communication;  ///< by axis and kind; empty where not asked for
  MemoryUse memory;
};

struct Metrics {
  Seconds step_time{0};  ///< the timeline's; with local updates the mean over their period
  std::int64_t chips = 0;
  std::int64_t tokens = 0;
  std::int64_t parameters = 0;
  Flops model_flops{0};            ///< per step, all chips: 3 x forward, without recomputation
  Flops executed_flops{0};         ///< per step, all chips: FLOPs that the ranks execute
  FlopsPerSecond peak{0};          ///< of one chip at the step's precision; the mean, where chips differ
  std::int32_t critical_rank = 0;  ///< lane of the program as run (a rank class): the first of those that end last
  Breakdown breakdown;             ///< of the critical rank
  std::vector<CommunicationUse> communication;  ///< of the critical rank, by axis and kind
  MemoryUse memory;                             ///< of the stage with the highest peak, or the least to spare
  std::vector<StageMetrics> stages;
  CriticalPath critical_path;                 ///< from the critical rank back, over all ranks
  std::optional<LocalUpdates> local_updates;  ///< parts of the step have their share of the outer steps

  /// Largest share of the step that a stage loses to the pipeline, over the step or only within the stage's own span.
  [[nodiscard]] double bubble_fraction_step() const;
  [[nodiscard]] double bubble_fraction_span() const;

  [[nodiscard]] double tokens_per_second() const;
  [[nodiscard]] double mfu() const;  ///< model FLOPs / (chips x peak x step time)
  [[nodiscard]] double hfu() const;  ///< executed FLOPs / (chips x peak x step time)
};

[[nodiscard]] Breakdown breakdown_of(const program::Program& program, const timeline::Timeline& timeline,
                                     std::int32_t rank);
[[nodiscard]] Breakdown breakdown_of(const timeline::Timeline& timeline, const RankPieces& rank);
[[nodiscard]] std::vector<CommunicationUse> communication_of(const workloads::StepGraph& step,
                                                             const program::Program& program,
                                                             const timeline::Timeline& timeline, std::int32_t rank);
[[nodiscard]] std::vector<CommunicationUse> communication_of(const workloads::StepGraph& step,
                                                             const program::Program& program,
                                                             const timeline::Timeline& timeline,
                                                             const RankPieces& rank);
/// Why each of the given ranks waits.
[[nodiscard]] std::vector<IdleTime> idle_of(const workloads::StepGraph& step, const workloads::StepPipeline& pipeline,
                                            const program::Program& program, const timeline::Timeline& timeline,
                                            const std::vector<std::int32_t>& ranks);
/// For every stage the rank that ends last, the lowest-numbered of those.
[[nodiscard]] std::vector<std::int32_t> last_rank_of_stages(const program::Program& program,
                                                            const timeline::Timeline& timeline);
/// The rank that sets the step time: the lowest-numbered of those whose last span ends at the makespan.
[[nodiscard]] std::int32_t critical_rank(const timeline::Timeline& timeline);

}  // namespace lockstep::metrics
