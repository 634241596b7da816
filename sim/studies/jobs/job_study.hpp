#pragma once
/// Several jobs on one network at once: how much longer their steps take than alone, and which links they share.
/// docs/howto/share_a_network.md
#include <cstdint>
#include <functional>
#include <optional>
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
  as_given,     ///< as the scenarios say
  packed,       ///< job after job, hosts that lie nearest to one another first
  interleaved,  ///< the same hosts in the same order, dealt out in turn
  best          ///< as a search finds them, among these and further free hosts
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
  Seconds alone{0};                     ///< a step on the same hosts with no other job
  std::vector<Seconds> steps;           ///< those that begin and end while all jobs run
  std::vector<std::string> host_names;  ///< in the order of ranks
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

/// How hosts were searched for: of all choices that were tried, the least of the largest slowdown of a job against its
/// best step alone, then of the sum of these.
struct HostSearch {
  std::int32_t tried = 0;       ///< choices of hosts that differ in the network
  std::int32_t ruled_out = 0;   ///< of these: some job alone is slower than the slowest is on the best choice
  std::int32_t impossible = 0;  ///< of these: a job cannot stand on its hosts
  std::int32_t hosts = 0;       ///< that could be given
  std::uint64_t seed = 1;
  std::vector<Seconds> alone;  ///< by job: its shortest step with no other job, on any hosts tried
  bool all_tried = false;      ///< the search found no choice that it had not tried
};

/// The jobs on one choice of hosts.
struct SharedRun {
  HostShares shares = HostShares::as_given;
  std::vector<SharedJob> jobs;
  std::vector<SharedLink> links;     ///< that more than one job uses, the most used first
  Seconds from{0}, to{0};            ///< in which all jobs run
  std::optional<HostSearch> search;  ///< of the best hosts
  /// How much longer a job's mean step takes than its shortest alone, on any hosts that were tried.
  [[nodiscard]] double beyond_best_alone(std::size_t job) const;
  /// Sum over the jobs of their mean step over that of another run of the same jobs: below their number, this one is
  /// the faster on the whole.
  [[nodiscard]] double sum_of_relative_steps(const SharedRun& other) const;
};

struct JobOptions {
  std::vector<HostShares> shares{HostShares::as_given};
  std::int32_t steps = 8;  ///< of the job with the longest ones, while all run
  std::int32_t nodes = 0;  ///< of a generated fabric, all jobs' and free ones; 0: as many as the jobs have together
  std::vector<std::string> free;  ///< hosts of the network that no job has and the best choice may take
  std::int32_t tries = 100;       ///< of the search for the best hosts, at most
  std::uint64_t seed = 1;         ///< of its order
  std::function<void(std::string_view stage, double fraction)> progress;  ///< may be empty
};

/// Runs all jobs at once on the engine max_min, one step after another, for each choice of hosts. Throws ConfigError,
/// placed in the scenarios' files, where they are not on one network, share hosts, have nodes of several kinds
/// that would have to move, or would need too many operations.
[[nodiscard]] std::vector<SharedRun> study_jobs(const std::vector<Job>& jobs, const JobOptions& options,
                                                spdlog::logger& log);

}  // namespace lockstep::jobs
