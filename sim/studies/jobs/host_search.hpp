#pragma once
/// Which hosts each of several jobs gets so that they hurt each other least: choices are simulated, with all jobs at
/// once, and exchanged block by block where that is better.
#include <functional>

#include "sim/studies/jobs/job_study.hpp"

namespace lockstep::jobs {

/// The best choice that was tried. Choices that differ by hosts which look the same from the network are tried once.
/// `progress`: called with the part of the search that is done. Throws ConfigError for free hosts that the network has
/// not, and as study_jobs does.
[[nodiscard]] SharedRun search_hosts(const std::vector<Job>& jobs, const JobOptions& options,
                                     const std::function<void(double)>& progress, spdlog::logger& log);

}  // namespace lockstep::jobs
