#include "sim/studies/jobs/job_study.hpp"

#include <numeric>

#include "sim/preparation/preparation.hpp"
#include "sim/studies/jobs/host_search.hpp"
#include "sim/studies/jobs/placed_jobs.hpp"
#include "sim/studies/jobs/shared_network.hpp"

namespace lockstep::jobs {

std::string_view name(HostShares shares) {
  switch (shares) {
    case HostShares::as_given: return "as given";
    case HostShares::packed: return "packed";
    case HostShares::interleaved: return "interleaved";
    case HostShares::best: return "best";
  }
  return "";
}

Seconds SharedJob::mean() const {
  return std::accumulate(steps.begin(), steps.end(), Seconds(0)) / static_cast<double>(steps.size());
}

double SharedLink::used() const { return std::accumulate(used_by_job.begin(), used_by_job.end(), 0.0); }

double SharedRun::sum_of_relative_steps(const SharedRun& other) const {
  double sum = 0;
  for (std::size_t job = 0; job < jobs.size(); ++job) sum += jobs[job].mean() / other.jobs[job].mean();
  return sum;
}

double SharedRun::beyond_best_alone(std::size_t job) const {
  return search ? jobs[job].mean() / search->alone[job] - 1 : jobs[job].slowdown();
}

std::vector<SharedRun> study_jobs(const std::vector<Job>& given, const JobOptions& options, spdlog::logger& log) {
  for (const auto& job : given)
    preparation::refuse_local_updates(job.scenario, "steps of jobs that share a network follow one another at once");
  const auto jobs = on_written_network(given, options.nodes);
  check_one_network(jobs);
  if (options.shares != std::vector{HostShares::as_given}) check_hosts_can_change(jobs);
  std::vector<SharedRun> runs;
  for (const auto shares : options.shares) {
    const auto part = [&](double of_this) {
      if (!options.progress) return;
      options.progress(name(shares),
                       (static_cast<double>(runs.size()) + of_this) / static_cast<double>(options.shares.size()));
    };
    part(0);
    if (shares == HostShares::best) {
      runs.push_back(search_hosts(jobs, options, part, log));
    } else {
      runs.push_back(PlacedJobs(jobs, with_hosts(jobs, shares), options, log).together());
    }
    runs.back().shares = shares;
  }
  if (options.progress) options.progress("done", 1);
  return runs;
}

}  // namespace lockstep::jobs
