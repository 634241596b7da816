#pragma once
/// The part of the schedule command's report that only a designed order has.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tools/output/elements/design_reasons.hpp"
#include "workloads/pipeline/design/design.hpp"

namespace lockstep::output {

/// Where the time of one rank goes that it does not work, and what it does meanwhile.
struct RankWaits {
  std::array<double, 4> idle{};     ///< by what it waits for: waits_for
  std::int32_t early_forwards = 0;  ///< before the first gradient
  std::int32_t owed = 0;            ///< most weight gradients put off at once
};
inline constexpr std::array<const char*, 4> waits_for = {"for its first forward", "for forwards of earlier stages",
                                                         "for gradients of later stages", "after its last work"};
[[nodiscard]] std::vector<RankWaits> waits_of(const workloads::PipelineOrder& order,
                                              const workloads::PipelineTimes& times);

struct DesignStudy {
  struct Rival {
    std::string schedule;
    double makespan = 0;
  };
  double lower_bound = 0, gap = 0;
  std::string bounded_by;
  std::vector<double> limits;    ///< of each rank, in microbatches
  std::vector<Rival> published;  ///< under the same limits, the shortest first
  std::optional<workloads::PipelineOrder> best_published = {};
  DesignReasons reasons = {};
  std::vector<workloads::MoreMemory> more_memory = {};
  std::optional<workloads::LessWork> less_work = {};
  bool stopped = false;  ///< the search, or one of those for what if, before it was over
};

/// `effort`: what may stop the searches for what if.
[[nodiscard]] DesignStudy study_design(const workloads::ScheduleRequest& request, const workloads::Design& design,
                                       const workloads::DesignEffort& effort = {});

}  // namespace lockstep::output
