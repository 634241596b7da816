#include "sim/studies/jobs/placed_jobs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "sim/core/errors.hpp"
#include "sim/engine/engine.hpp"
#include "sim/metrics/link_loads.hpp"
#include "sim/preparation/preparation.hpp"
#include "sim/program/fold.hpp"
#include "sim/program/side_by_side.hpp"
#include "sim/studies/jobs/shared_network.hpp"

namespace lockstep::jobs {
namespace {

/// Operations of all classes of ranks in one run: some ten seconds and some gigabytes.
constexpr double most_operations = 40e6;

/// Several programs, run at once.
struct Run {
  program::SharedProgram shared;
  program::FoldedProgram folded;
  engine::EngineResult result;

  /// When each step of a job ended.
  [[nodiscard]] std::vector<Seconds> step_ends(std::size_t job) const {
    std::vector<Seconds> ends;
    const auto rank = folded.ranks.class_of_rank[shared.jobs[job].first_rank];
    for (const auto op : shared.jobs[job].step_ends) ends.push_back(result.timeline.span(op, rank).end);
    return ends;
  }
};

}  // namespace

class PlacedJobs::Study {
 public:
  Study(const std::vector<Job>& jobs, std::vector<scenario::Scenario> scenarios, const JobOptions& options,
        spdlog::logger& log)
      : jobs_(jobs), scenarios_(std::move(scenarios)), options_(options), log_(log) {
    lower();
    for (std::size_t job = 0; job < jobs_.size(); ++job) measure_alone(job);
  }

  [[nodiscard]] std::vector<Seconds> alone() const {
    std::vector<Seconds> steps;
    for (const auto& job : run_.jobs) steps.push_back(job.alone);
    return steps;
  }

  SharedRun together() {
    measure_together();
    return run_;
  }

 private:
  void lower() {
    for (const auto& scenario : scenarios_) {
      prepared_.push_back(preparation::prepare_step(scenario));
      programs_.push_back(preparation::lower_with_perturbations(scenario, prepared_.back()));
    }
    std::vector<const topologies::Cluster*> clusters;
    std::vector<const scenario::Scenario*> scenarios;
    std::vector<const Indexed<topologies::LinkId, BytesPerSecond>*> rates;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      clusters.push_back(prepared_[job].machine.cluster.get());
      scenarios.push_back(&scenarios_[job]);
      rates.push_back(&programs_[job].links);
    }
    common_ = common_links(clusters, scenarios, rates);
  }

  [[nodiscard]] program::RepeatedStep repeated(std::size_t job, std::int32_t times, Seconds start,
                                               Seconds alone) const {
    return {&programs_[job], times, start, alone, common_.of_job[job]};
  }

  [[nodiscard]] Run simulated(const std::vector<program::RepeatedStep>& steps) const {
    Run run;
    double operations = 0;
    for (const auto& step : steps) operations += static_cast<double>(step.step->ops.size()) * step.times;
    refuse_if_too_long(operations);
    run.shared = program::side_by_side(steps, common_.rates);
    run.folded = program::fold(run.shared.program);
    refuse_if_too_long(operations_of_ranks(run.folded.program));
    engine::EngineOptions options;
    options.kind = engine::EngineKind::max_min;
    options.record_phases = true;
    run.result = engine::run(run.folded.program, options, log_);
    return run;
  }

  /// Each operation on each class of ranks that computes it; a collective counts as one.
  [[nodiscard]] static double operations_of_ranks(const program::Program& program) {
    std::map<workloads::StageId, double> ranks;
    for (const auto stage : program.stage_of_rank) ++ranks[stage];
    double operations = 0;
    for (const auto& op : program.ops) operations += op.kind == program::ProgramOp::Kind::compute ? ranks[op.stage] : 1;
    return operations;
  }

  void refuse_if_too_long(double operations) const {
    if (operations <= most_operations) return;
    throw ConfigError({{{"--steps", 0, 0},
                        "",
                        "the jobs' steps together are " + std::to_string(std::llround(operations / 1e6)) +
                            " million operations of ranks",
                        "at most " + std::to_string(std::llround(most_operations / 1e6)) +
                            " million: fewer steps, or jobs with fewer microbatches"}});
  }

  void measure_alone(std::size_t job) {
    auto run = simulated({repeated(job, 1, Seconds(0), Seconds(0))});
    const auto alone = run.step_ends(0).front();
    const auto& scenario = scenarios_[job];
    run_.jobs.push_back({scenario.name, scenario.cluster.units, scenario.chips(), alone, {}, host_names(scenario)});
  }

  /// Share of each link's bytes that the operations of one job take, by common number.
  [[nodiscard]] static std::map<topologies::LinkId, metrics::LinkLoad> loads(const Run& run, std::size_t job,
                                                                             timeline::Interval window) {
    std::vector<timeline::PhaseSpan> own;
    for (const auto& phase : run.result.phases) {
      const auto& ops = run.shared.jobs[job];
      if (phase.op < ops.first || phase.op >= ops.end) continue;
      if (phase.flows.start >= window.start && phase.flows.end <= window.end) own.push_back(phase);
    }
    std::map<topologies::LinkId, metrics::LinkLoad> by_link;
    for (const auto& load : metrics::link_loads(run.folded.program, own, run.folded.link_members, window))
      by_link.try_emplace(load.link, load);
    return by_link;
  }

  void measure_together() {
    Seconds longest(0), latest(0);
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      longest = std::max(longest, run_.jobs[job].alone);
      latest = std::max(latest, jobs_[job].start);
    }
    // Each job goes on until the longest has done its steps, however slow: while some job has ended before, with more.
    for (double factor = 1.25;; factor *= 1.5) {
      std::vector<program::RepeatedStep> steps;
      for (std::size_t job = 0; job < jobs_.size(); ++job) {
        const auto alone = run_.jobs[job].alone;
        const double span = factor * (options_.steps * longest + latest - jobs_[job].start).value();
        const auto times = static_cast<std::int32_t>(std::ceil(span / alone.value()));
        steps.push_back(
            repeated(job, alone == longest ? std::max(times, options_.steps) : times, jobs_[job].start, alone));
      }
      const auto run = simulated(steps);
      if (take(run, latest) || factor > 8) return;
    }
  }

  /// The steps while all jobs ran; false: some job ended before the longest had done its steps.
  bool take(const Run& run, Seconds latest) {
    Seconds to(std::numeric_limits<double>::infinity());
    for (std::size_t job = 0; job < jobs_.size(); ++job) to = std::min(to, run.step_ends(job).back());
    bool enough = true;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      auto& mine = run_.jobs[job];
      mine.steps.clear();
      auto before = jobs_[job].start;
      for (const auto end : run.step_ends(job)) {
        if (before >= latest && end <= to) mine.steps.push_back(end - before);
        before = end;
      }
      enough = enough && !mine.steps.empty();
      if (std::ssize(mine.steps) < options_.steps && mine.alone >= longest_alone()) enough = false;
    }
    run_.from = latest;
    run_.to = to;
    if (enough) find_shared_links(run);
    return enough;
  }

  [[nodiscard]] Seconds longest_alone() const {
    Seconds longest(0);
    for (const auto& job : run_.jobs) longest = std::max(longest, job.alone);
    return longest;
  }

  void find_shared_links(const Run& run) {
    run_.links.clear();
    std::map<topologies::LinkId, SharedLink> found;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      for (const auto& [link, load] : loads(run, job, {run_.from, run_.to})) {
        auto& shared = found[link];
        shared.name = common_.names[link];
        shared.alike = load.alike;
        shared.bandwidth = load.bandwidth;
        shared.used_by_job.resize(jobs_.size(), 0);
        shared.used_by_job[job] = load.used;
      }
    }
    for (auto& [link, shared] : found) {
      if (std::count_if(shared.used_by_job.begin(), shared.used_by_job.end(), [](double used) { return used > 0; }) < 2)
        continue;
      run_.links.push_back(std::move(shared));
    }
    std::stable_sort(run_.links.begin(), run_.links.end(),
                     [](const auto& a, const auto& b) { return a.used() > b.used(); });
  }

  const std::vector<Job>& jobs_;
  std::vector<scenario::Scenario> scenarios_;
  const JobOptions& options_;
  spdlog::logger& log_;
  std::vector<preparation::PreparedStep> prepared_;
  std::vector<program::Program> programs_;
  CommonLinks common_;
  SharedRun run_;
};

PlacedJobs::PlacedJobs(const std::vector<Job>& jobs, std::vector<scenario::Scenario> scenarios,
                       const JobOptions& options, spdlog::logger& log)
    : study_(std::make_unique<Study>(jobs, std::move(scenarios), options, log)) {}
PlacedJobs::~PlacedJobs() = default;

std::vector<Seconds> PlacedJobs::alone() const { return study_->alone(); }
SharedRun PlacedJobs::together() const { return study_->together(); }

}  // namespace lockstep::jobs
