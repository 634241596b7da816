#pragma once
/// Jobs on hosts that are chosen: each timed alone, then all at once.
#include <memory>
#include <vector>

#include "sim/studies/jobs/job_study.hpp"

namespace lockstep::jobs {

class PlacedJobs {
 public:
  /// Prepares the jobs and times a step of each alone. `scenarios`: those of the jobs, on their hosts. `jobs`,
  /// `options` and `log` must outlive this. Throws ConfigError as study_jobs does.
  PlacedJobs(const std::vector<Job>& jobs, std::vector<scenario::Scenario> scenarios, const JobOptions& options,
             spdlog::logger& log);
  PlacedJobs(const PlacedJobs&) = delete;
  PlacedJobs& operator=(const PlacedJobs&) = delete;
  ~PlacedJobs();

  [[nodiscard]] std::vector<Seconds> alone() const;  ///< a step of each job
  [[nodiscard]] SharedRun together() const;          ///< its `shares` are those of the caller to name

 private:
  class Study;
  std::unique_ptr<Study> study_;
};

}  // namespace lockstep::jobs
