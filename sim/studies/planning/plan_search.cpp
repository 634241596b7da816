#include "sim/studies/planning/plan_search.hpp"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>

#include "sim/studies/isolated.hpp"
#include "sim/studies/planning/exact_times.hpp"
#include "sim/studies/planning/plan_forest.hpp"
#include "sim/timing/timed_step.hpp"

namespace lockstep::planning {
namespace {

constexpr double nothing_yet = std::numeric_limits<double>::infinity();

/// Keeps only those metrics of a run that a comparison of plans shows.
PlanFigures figures_of(const scenario::Scenario& scenario, const preparation::Preparation& preparation,
                       const program::Program& program, const timeline::Timeline& timeline) {
  PlanFigures figures;
  const auto rank = metrics::critical_rank(timeline);
  const auto breakdown = metrics::breakdown_of(program, timeline, rank);
  figures.step_s = timeline.makespan().value();
  figures.compute_s = breakdown.compute.value();
  figures.bubble_s = breakdown.bubble.value();
  for (const auto& use : metrics::communication_of(preparation.step, program, timeline, rank)) {
    const auto name = topologies::axis_part(use.axis).axis;
    const auto axis = std::find(plan_axes.begin(), plan_axes.end(), name == "fsdp" ? "data" : name);
    figures.exposed_s[position_of(axis - plan_axes.begin())] += use.exposed.value();
  }
  figures.mfu = measure_step(scenario, preparation, timeline).mfu();
  const auto capacity = preparation.machine.cluster->chip().memory;
  const metrics::StepMemory memories(preparation.step, program, timeline, capacity);
  auto fullest = memories.of(rank);
  for (const auto lane : metrics::last_rank_of_stages(program, timeline)) {
    auto memory = memories.of(lane);
    if (memory.peak > fullest.peak) fullest = std::move(memory);
  }
  figures.peak_bytes = fullest.peak.value();
  figures.weights_bytes = fullest.weights.value();
  figures.gradients_bytes = fullest.gradients.value();
  figures.optimizer_bytes = fullest.optimizer.value();
  figures.activations_bytes = fullest.activations.value();
  figures.other_bytes = fullest.other().value();
  return figures;
}

struct GoesLater {
  bool operator()(const PlanBranch& a, const PlanBranch& b) const { return goes_first(b, a); }
};

struct Faster {
  bool operator()(const RankedPlan& a, const RankedPlan& b) const {
    return std::pair{compared_time(a.figures.step_s), a.choice} < std::pair{compared_time(b.figures.step_s), b.choice};
  }
};

class Search {
 public:
  Search(const PlanSpace& space, const SearchOptions& options, spdlog::logger& log)
      : space_(space),
        options_(options),
        log_(log),
        forest_(space, options.jobs),
        exact_times_(space, options.jobs, options.engine, log) {}

  /// Best first. The first of the queue, if it is a set of plans, is looked into; if its key is a bound, gets its exact
  /// time and goes back; if its key is exact, nothing can be faster: it is run as `lockstep run` does, and shown if it
  /// fits.
  SearchResult run() {
    const auto started = Clock::now();
    plant();
    while (fastest_.size() < options_.top && !queue_.empty()) {
      const auto branch = queue_.top();
      if (branch.level != PlanBranch::Level::plan) {
        look_into_some();
      } else if (const auto timed = timed_.find(branch.choice); timed != timed_.end()) {
        queue_.pop();
        confirm(branch, timed->second);
      } else {
        time_some();
      }
    }
    return result(std::chrono::duration<double>(Clock::now() - started).count());
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Branches with a bound above this, the time of the last plan shown, are not looked at.
  [[nodiscard]] double threshold() const { return fastest_.size() < options_.top ? nothing_yet : last_s_; }

  void plant() {
    const auto started = Clock::now();
    for (const auto& root : forest_.roots()) queue_.push(root);
    bounds_s_ += std::chrono::duration<double>(Clock::now() - started).count();
  }

  /// The next sets of plans, enough for all threads. The sets after the first are likely, but not certain, to be
  /// needed.
  void look_into_some() {
    constexpr int of_a_thread = 16;
    std::vector<PlanBranch> next;
    int room = forest_.threads() > 1 ? of_a_thread * forest_.threads() : 1;
    while (room > 0 && !queue_.empty() && queue_.top().level != PlanBranch::Level::plan) {
      next.push_back(queue_.top());
      queue_.pop();
      room -= next.back().level == PlanBranch::Level::cost_class
                  ? of_a_thread
                  : 1;  // whose schedules are gone through action by action
    }
    const auto started = Clock::now();
    const auto made = forest_.below(next);
    bounds_s_ += std::chrono::duration<double>(Clock::now() - started).count();
    for (std::size_t i = 0; i < next.size(); ++i) {
      if (made[i].too_large > 0) too_large_.emplace_back(next[i].bound_s, made[i].too_large);
      for (const auto& branch : made[i].branches) queue_.push(branch);
    }
    tell();
  }

  /// Exact times of the next plans, one for each job at a time, as long as there are some that are likely to be needed.
  /// Sets of plans with such a bound are looked into for more.
  void time_some() {
    const double first_s = queue_.top().bound_s;
    for (;;) {
      while (exact_times_.has_room()) {
        const auto next = likely_next(first_s);
        if (!next) break;
        exact_times_.start(*next);
      }
      if (exact_times_.none_runs()) return;
      for (const auto& [plan, step_s] : exact_times_.wait()) take(plan, step_s);
      tell();
    }
  }

  /// Out of the queue.
  std::optional<PlanBranch> likely_next(double first_s) {
    while (!queue_.empty() && queue_.top().bound_s <= likely_below(first_s)) {
      const auto branch = queue_.top();
      if (branch.level == PlanBranch::Level::plan) {
        if (timed_.contains(branch.choice)) return {};
        queue_.pop();
        return branch;
      }
      look_into_some();
    }
    return {};
  }

  void take(PlanBranch branch, double step_s) {
    if (step_s < branch.bound_s)
      throw InternalError("planning: a bound of " + std::to_string(branch.bound_s) + " s above a step of " +
                          std::to_string(step_s) + " s");
    timed_.emplace(branch.choice, branch.bound_s);
    branch.bound_s = compared_time(step_s);
    unconfirmed_.insert(branch.bound_s);
    queue_.push(branch);
  }

  /// If the fastest plans timed so far fit, all of a lower bound have to be timed, and none of a higher one. Before
  /// there are enough of them: what is as good as the next.
  [[nodiscard]] double likely_below(double next_bound_s) const {
    const auto missing = options_.top - fastest_.size();
    return unconfirmed_.size() < missing ? 1.001 * next_bound_s
                                         : *std::next(unconfirmed_.begin(), static_cast<std::ptrdiff_t>(missing) - 1);
  }

  void confirm(const PlanBranch& branch, double bound_s) {
    unconfirmed_.erase(unconfirmed_.find(branch.bound_s));
    const auto scenario = space_.scenario(space_.node_of(branch.choice), branch.choice);
    const RankedPlan plan{branch.choice, bound_s, figures_in_child(scenario, options_.engine, log_)};
    last_s_ = branch.bound_s;
    if (plan.figures.peak_bytes > space_.memory().value()) {
      ++did_not_fit_;
    } else {
      fastest_.insert(plan);
    }
    tell();
  }

  void tell() const {
    if (!options_.progress) return;
    const double bound = queue_.empty() ? last_s_ : queue_.top().bound_s;
    char text[160];
    std::snprintf(text, sizeof text, "%lld bounds, %zu timed, %zu of %zu found, nothing else below %.4g s",
                  static_cast<long long>(forest_.bounds()), timed_.size(), fastest_.size(), options_.top, bound);
    options_.progress(text, static_cast<double>(fastest_.size()) / static_cast<double>(options_.top));
  }

  /// Counted by the final threshold, so that the figures do not depend on what ran at the same time.
  SearchResult result(double wall_s) const {
    SearchResult result;
    result.best.assign(fastest_.begin(), fastest_.end());
    auto& proof = result.proof;
    proof.space = space_.size();
    for (const auto& [bound_s, plans] : too_large_) proof.pruned_by_memory += bound_s <= threshold() ? plans : 0;
    for (const auto& [choice, bound_s] : timed_) proof.simulated += bound_s <= threshold() ? 1 : 0;
    proof.did_not_fit = did_not_fit_;
    proof.pruned_by_bound = proof.space - proof.pruned_by_memory - proof.simulated;
    result.bounds = forest_.bounds();
    result.wall_s = wall_s;
    result.bounds_s = bounds_s_;
    if (options_.progress) options_.progress("done", 1);
    return result;
  }

  const PlanSpace& space_;
  const SearchOptions& options_;
  spdlog::logger& log_;
  PlanForest forest_;
  ExactTimes exact_times_;
  std::priority_queue<PlanBranch, std::vector<PlanBranch>, GoesLater> queue_;
  std::set<RankedPlan, Faster> fastest_;
  double last_s_ = 0;  ///< of the plans whose turn has come
  std::vector<std::pair<double, std::int64_t>>
      too_large_;                       ///< bound of the branch that was looked into, plans left out there
  std::map<PlanChoice, double> timed_;  ///< plans whose key is exact; their bounds
  std::multiset<double> unconfirmed_;   ///< exact keys of those whose turn has not come
  std::int64_t did_not_fit_ = 0;
  double bounds_s_ = 0;
};

}  // namespace

double compared_time(double step_s) {
  const double unit = std::pow(10, std::floor(std::log10(step_s)) - 8);
  return std::round(step_s / unit) * unit;
}

SearchResult search_plans(const PlanSpace& space, const SearchOptions& options, spdlog::logger& log) {
  return Search(space, options, log).run();
}

PlanFigures simulated_figures(const scenario::Scenario& scenario, engine::EngineKind engine, spdlog::logger& log) {
  auto preparation = preparation::placed(scenario);
  auto timed = timing::timed_step(scenario, preparation, preparation.model.layers,
                                  step_options(scenario, preparation.model), {{engine, {}, false}}, log);
  preparation.step = std::move(timed.step);
  return figures_of(scenario, preparation, timed.folded.program, timed.run.timeline);
}

PlanFigures figures_in_child(const scenario::Scenario& scenario, engine::EngineKind engine, spdlog::logger& log) {
  engine::load(engine);
  ::malloc_trim(0);  // the child would count what is free here as its own
  const auto text = studies::in_child([&] {
    const auto figures = simulated_figures(scenario, engine, log);
    return std::string(reinterpret_cast<const char*>(&figures), sizeof figures);
  });
  PlanFigures figures;
  std::memcpy(&figures, text.data(), std::min(text.size(), sizeof figures));
  return figures;
}

}  // namespace lockstep::planning
