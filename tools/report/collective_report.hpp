#pragma once
/// The page of `lockstep collective`.
#include <string>

#include "sim/studies/collectives/collective_study.hpp"
#include "tools/report/page.hpp"
#include "tools/report/panels.hpp"

namespace lockstep::report {

/// What was timed, beside the study.
struct TimedCollective {
  workloads::CollectiveKind kind;
  const topologies::Cluster& cluster;
  std::string cluster_name;  ///< as it was given
  int group = 0;             ///< ranks of each group
  std::int64_t groups = 0;   ///< at once
};

/// HTML: of a designed collective first why it is faster and what links carry beside the best other one; time, bound
/// and bus bandwidth over sizes for each algorithm of the study; the busiest links of the largest size.
[[nodiscard]] std::optional<std::string> collective_report(const TimedCollective& timed,
                                                           const studies::CollectiveStudy& study,
                                                           const Reproduction& again);

}  // namespace lockstep::report
