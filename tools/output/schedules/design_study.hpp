#pragma once
/// The part of the schedule command's report that only a designed order has.
#include <string>
#include <vector>

#include "workloads/pipeline/design/design.hpp"

namespace lockstep::output {

struct DesignStudy {
  struct Rival {
    std::string schedule;
    double makespan = 0;
  };
  double lower_bound = 0, gap = 0;
  std::string bounded_by;
  std::vector<double> limits;    ///< of each rank, in microbatches
  std::vector<Rival> published;  ///< under the same limits, the shortest first
  std::vector<std::string> why;  ///< sentences: what the order does differently, which wait it removes
  std::vector<workloads::MoreMemory> more_memory;
  std::string with_more_memory;  ///< a sentence
  bool stopped = false;          ///< the search, or that for more memory, before it was over
};

/// `effort`: what may stop the search for more memory.
[[nodiscard]] DesignStudy study_design(const workloads::ScheduleRequest& request, const workloads::Design& design,
                                       const workloads::DesignEffort& effort = {});

}  // namespace lockstep::output
