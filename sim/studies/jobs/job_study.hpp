#pragma once
/// Several jobs on one network at once: how much longer their steps take than alone, and which links they share.
/// docs/howto/share_a_network.md
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/scenario/scenario.hpp"

namespace spdlog {
class logger;
}

namespace lockstep::jobs {

/// Which of the hosts that the jobs have together each of them stands on.
enum class HostShares {
  as_given,    ///< as the scenarios say
  packed,      ///< job after job, hosts that lie nearest to one another first
  interleaved  ///< the same hosts in the same order, dealt out in turn
};
[[nodiscard]] std::string_view name(HostShares shares);

struct Job {
  scenario::Scenario scenario;
  Seconds start{0};  ///< of its first step
};

struct SharedJob {
  std::string name;
  std::int64_t hosts = 0;
  std::int64_t chips = 0;
  Seconds alone{0};            ///< a step on the same hosts with no other job
  std::vector<Seconds> steps;  ///< those that begin and end while all jobs run
  [[nodiscard]] Seconds mean() const;
  [[nodiscard]] double slowdown() const { return mean() / alone - 1; }  ///< 0: as fast as alone
};

/// A link between switches, both jobs' flows on it.
struct SharedLink {
  std::string name;
  std::int32_t alike = 1;           ///< links that carry the same at the same times, itself included
  BytesPerSecond bandwidth{0};      ///< one way, as achieved
  std::vector<double> used_by_job;  ///< share of the bytes that it could have carried, by job
  [[nodiscard]] double used() const;
};

/// The jobs on one choice of hosts.
struct SharedRun {
  HostShares shares = HostShares::as_given;
  std::vector<SharedJob> jobs;
  std::vector<SharedLink> links;  ///< that more than one job uses, the most used first
  Seconds from{0}, to{0};         ///< in which all jobs run
  /// Sum over the jobs of their mean step over that of another run of the same jobs: below their number, this one is
  /// the faster on the whole.
  [[nodiscard]] double sum_of_relative_steps(const SharedRun& other) const;
};

struct JobOptions {
  std::vector<HostShares> shares{HostShares::as_given};
  std::int32_t steps = 8;  ///< of the job with the longest ones, while all run
  std::function<void(std::string_view stage, double fraction)> progress;  ///< may be empty
};

/// Runs all jobs at once on the engine max_min, one step after another, for each choice of hosts. Throws ConfigError,
/// placed in the scenarios' files, where they are not on one network of a file, share hosts, or would need too many
/// operations.
[[nodiscard]] std::vector<SharedRun> study_jobs(const std::vector<Job>& jobs, const JobOptions& options,
                                                spdlog::logger& log);

}  // namespace lockstep::jobs
