#pragma once
/// The steps of several jobs that run at once on links that they share, as one program: what each job does is as it
/// was, and flows of different jobs meet on the links.
#include <cstdint>
#include <span>
#include <vector>

#include "sim/program/program.hpp"

namespace lockstep::program {

/// A job that does one step after another. Each step begins when the last rank has ended the one before.
struct RepeatedStep {
  const Program* step;
  std::int32_t times = 1;
  Seconds start{0};  ///< of its first step
  Seconds alone{
      0};  ///< what a step takes without other jobs: hosts launch the kernels of step n from start + n alone on
  Indexed<topologies::LinkId, topologies::LinkId> shared;  ///< number of each of its links among those of all jobs
};

/// What of the common program is one job's.
struct JobOps {
  topologies::RankId first_rank = 0;
  ProgramOpId first = 0, end = 0;      ///< its operations
  std::vector<ProgramOpId> step_ends;  ///< operations of no time: each ends with the last rank of a step
};

struct SharedProgram {
  Program program;
  std::vector<JobOps> jobs;
};

/// `links`: capacities of the links of all jobs. Ranks, stages and kinds of chips of later jobs are numbered after
/// those of earlier ones; `vertex` is that of the job's own step. Throws InternalError for steps that are no programs,
/// and for more operations or ranks than can be numbered.
[[nodiscard]] SharedProgram side_by_side(std::span<const RepeatedStep> jobs,
                                         Indexed<topologies::LinkId, BytesPerSecond> links);

}  // namespace lockstep::program
