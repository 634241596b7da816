#include "sim/studies/jobs/host_search.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "sim/core/errors.hpp"
#include "sim/core/splitmix64.hpp"
#include "sim/studies/jobs/host_pool.hpp"
#include "sim/studies/jobs/placed_jobs.hpp"
#include "sim/studies/jobs/shared_network.hpp"
#include "topologies/graph/host_list.hpp"

namespace lockstep::jobs {
namespace {

using topologies::HostId;
using HostsOfJobs = std::vector<std::vector<HostId>>;

constexpr double rounding = 1e-9;           // slowdowns that differ by less are equal
constexpr std::size_t most_free = 1 << 18;  // names
constexpr int most_known_in_a_row = 100;    // choices drawn that were tried before

/// What is least: of the jobs the largest slowdown against the best step alone, then the sum.
struct Hurt {
  double worst = 0, sum = 0;
  [[nodiscard]] bool less_than(const Hurt& other) const {
    if (std::abs(worst - other.worst) > rounding) return worst < other.worst;
    return sum < other.sum - rounding;
  }
};

Hurt hurt(const std::vector<Seconds>& steps, const std::vector<Seconds>& alone) {
  Hurt result{-1, 0};
  for (std::size_t job = 0; job < steps.size(); ++job) {
    const double slowdown = steps[job] / alone[job] - 1;
    result.worst = std::max(result.worst, slowdown);
    result.sum += slowdown;
  }
  return result;
}

std::vector<HostId> pool_of(const std::vector<Job>& jobs, const std::vector<std::string>& free) {
  const auto& graph = graph_of(jobs.front().scenario);
  std::map<std::string, HostId> known;
  for (const auto host : graph.hosts.ids()) known.try_emplace(graph.hosts[host].name, host);
  std::set<HostId> pool;
  for (const auto& job : jobs) {
    const auto own = hosts_of(job.scenario);
    pool.insert(own.begin(), own.end());
  }
  Problems problems;
  for (const auto& list : free) {
    const auto names = topologies::expand_names(list, most_free);
    if (const auto* error = std::get_if<QuantityError>(&names)) {
      problems.add({{"--free", 0, 0}, "", "'" + list + "' " + error->what, error->expected});
      continue;
    }
    std::vector<std::string> unknown;
    for (const auto& name : std::get<0>(names)) {
      const auto found = known.find(name);
      if (found == known.end()) {
        unknown.push_back(name);
      } else {
        pool.insert(found->second);
      }
    }
    if (!unknown.empty())
      problems.add(
          {{"--free", 0, 0}, "", "the network has no " + topologies::some_of(unknown), "hosts of the network"});
  }
  problems.throw_if_any();
  return {pool.begin(), pool.end()};
}

class Search {
 public:
  Search(const std::vector<Job>& jobs, const JobOptions& options, const std::function<void(double)>& progress,
         spdlog::logger& log)
      : jobs_(jobs),
        options_(options),
        progress_(progress),
        log_(log),
        pool_(graph_of(jobs.front().scenario), pool_of(jobs, options.free)),
        state_(options.seed) {
    for (const auto& job : jobs) wanted_.push_back(static_cast<int>(hosts_of(job.scenario).size()));
  }

  SharedRun run() {
    start();
    while (!done() && improve()) {
    }
    settle();
    auto best = std::move(*best_run_);
    auto& search = best.search.emplace();
    search.tried = static_cast<std::int32_t>(tried_.size());
    for (const auto& one : tried_) {
      if (!one.possible) {
        ++search.impossible;
      } else if (!one.together) {
        ++search.ruled_out;
      }
    }
    search.hosts = static_cast<std::int32_t>(pool_.size());
    search.seed = options_.seed;
    search.alone = alone_;
    search.all_tried = exhausted_;
    return best;
  }

 private:
  struct Tried {
    HostsOfJobs hosts;
    std::vector<Seconds> steps;  ///< alone, which no job is faster than, or together
    bool together = false, possible = true;
  };

  [[nodiscard]] int next(std::size_t below) { return static_cast<int>(splitmix64(state_ += splitmix64_step) % below); }

  /// Hosts as given; one job after another in each order on the best that are left; and packed.
  void start() {
    HostsOfJobs given;
    for (const auto& job : jobs_) given.push_back(hosts_of(job.scenario));
    const auto owners = pool_.owners(given);
    try_hosts(given, hosts_of_owners(owners) == given ? pool_.name(owners) : "in another order of ranks", false);
    for (const auto& order : orders()) {
      HostsOfJobs chosen(jobs_.size());
      auto left = pool_.hosts();
      for (const auto job : order) {
        chosen[job] = pool_.blocks().best(left, wanted_[job]);
        const std::set<HostId> taken(chosen[job].begin(), chosen[job].end());
        std::erase_if(left, [&](HostId host) { return taken.contains(host); });
      }
      try_owners(pool_.owners(chosen));
    }
    HostsOfJobs packed(jobs_.size());
    auto from = pool_.hosts().begin();
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      packed[job].assign(from, from + wanted_[job]);
      from += wanted_[job];
    }
    try_owners(pool_.owners(packed));
  }

  /// All orders of three jobs; of more, those in which one comes first and the others by their size.
  [[nodiscard]] std::vector<std::vector<std::size_t>> orders() const {
    std::vector<std::size_t> order(jobs_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<std::vector<std::size_t>> all;
    if (order.size() <= 3) {
      do {
        all.push_back(order);
      } while (std::next_permutation(order.begin(), order.end()));
      return all;
    }
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return wanted_[a] > wanted_[b]; });
    for (std::size_t first = 0; first < order.size(); ++first) {
      all.push_back(order);
      std::rotate(all.back().begin(), all.back().begin() + static_cast<std::ptrdiff_t>(first),
                  all.back().begin() + static_cast<std::ptrdiff_t>(first) + 1);
    }
    return all;
  }

  /// No choice hurts less than one on which every job is as fast as alone on its best hosts.
  [[nodiscard]] bool done() const {
    return std::ssize(tried_) >= options_.tries || exhausted_ || hurt(steps_of_best(), alone_).worst <= rounding;
  }
  [[nodiscard]] const std::vector<Seconds>& steps_of_best() const { return tried_[best_].steps; }

  /// One exchange that is better than the best choice; where none is, a choice a few exchanges away. False: neither.
  bool improve() {
    const Owners from = pool_.owners(tried_[best_].hosts);
    auto exchanges = pool_.exchanges(from);
    for (std::size_t left = exchanges.size(); left > 1; --left)
      std::swap(exchanges[left - 1], exchanges[position_of(next(left))]);
    for (const auto& exchange : exchanges) {
      if (done()) return false;
      const auto before = best_;
      try_owners(after(from, exchange));
      if (best_ != before) return true;
    }
    return wander(from);
  }

  [[nodiscard]] static Owners after(Owners owners, const Exchange& exchange) {
    for (std::size_t i = 0; i < exchange.one.size(); ++i) std::swap(owners[exchange.one[i]], owners[exchange.other[i]]);
    return owners;
  }

  bool wander(const Owners& from) {
    for (int known = 0; known < most_known_in_a_row; ++known) {
      auto owners = from;
      for (int exchanged = 0; exchanged < 2 + known % 4; ++exchanged) {
        const auto exchanges = pool_.exchanges(owners);
        if (exchanges.empty()) break;
        owners = after(owners, exchanges[position_of(next(exchanges.size()))]);
      }
      if (try_owners(owners)) return true;
    }
    exhausted_ = true;
    return false;
  }

  [[nodiscard]] HostsOfJobs hosts_of_owners(const Owners& owners) const {
    HostsOfJobs hosts;
    for (int job = 0; job < static_cast<int>(jobs_.size()); ++job) hosts.push_back(pool_.of(owners, job));
    return hosts;
  }

  bool try_owners(const Owners& owners) { return try_hosts(hosts_of_owners(owners), pool_.name(owners), true); }

  /// False: it was tried before, or no more may be.
  bool try_hosts(HostsOfJobs hosts, const std::string& name, bool may_be_impossible) {
    if (std::ssize(tried_) >= options_.tries || !names_.insert(name).second) return false;
    progress_(static_cast<double>(tried_.size()) / options_.tries);
    tried_.push_back({std::move(hosts), {}});
    try {
      simulate(tried_.size() - 1, true);
    } catch (const ConfigError&) {
      if (!may_be_impossible) throw;
      tried_.back().possible = false;
    }
    return true;
  }

  void simulate(std::size_t number, bool may_rule_out) {
    auto& one = tried_[number];
    const PlacedJobs placed(jobs_, on_hosts(jobs_, one.hosts, HostShares::best), options_, log_);
    one.steps = placed.alone();
    if (alone_.empty()) alone_ = one.steps;
    for (std::size_t job = 0; job < jobs_.size(); ++job) alone_[job] = std::min(alone_[job], one.steps[job]);
    if (may_rule_out && best_run_ && cannot_be_better(one)) return;
    auto run = placed.together();
    for (std::size_t job = 0; job < jobs_.size(); ++job) one.steps[job] = run.jobs[job].mean();
    one.together = true;
    if (best_run_ && !hurt(one.steps, alone_).less_than(hurt(steps_of_best(), alone_))) return;
    best_ = number;
    best_run_ = std::move(run);
  }

  [[nodiscard]] bool cannot_be_better(const Tried& one) const {
    return hurt(one.steps, alone_).worst > hurt(steps_of_best(), alone_).worst + rounding;
  }

  /// The best steps alone may have been found late: what was compared with others is compared again.
  void settle() {
    for (std::size_t number = 0; number < tried_.size(); ++number) {
      auto& one = tried_[number];
      if (!one.possible || number == best_) continue;
      const bool better =
          one.together ? hurt(one.steps, alone_).less_than(hurt(steps_of_best(), alone_)) : !cannot_be_better(one);
      if (better) simulate(number, false);
    }
  }

  const std::vector<Job>& jobs_;
  const JobOptions& options_;
  const std::function<void(double)>& progress_;
  spdlog::logger& log_;
  HostPool pool_;
  std::uint64_t state_;
  std::vector<int> wanted_;
  std::vector<Tried> tried_;
  std::set<std::string> names_;
  std::vector<Seconds> alone_;  ///< by job: the shortest so far
  std::size_t best_ = 0;
  std::optional<SharedRun> best_run_;
  bool exhausted_ = false;
};

}  // namespace

SharedRun search_hosts(const std::vector<Job>& jobs, const JobOptions& options,
                       const std::function<void(double)>& progress, spdlog::logger& log) {
  return Search(jobs, options, progress, log).run();
}

}  // namespace lockstep::jobs
