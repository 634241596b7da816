#include "sim/studies/planning/plan_search.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>

#include "sim/studies/planning/plan_draws.hpp"

namespace lockstep::planning {
namespace {

constexpr double nothing_yet = std::numeric_limits<double>::infinity();

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
  Search(const PlanSpace& space, const SearchOptions& options, PlanWorkers& workers)
      : space_(space), options_(options), workers_(workers) {}

  /// Takes the entry with the least key from the queue, again and again. A set of plans is split. A plan whose key is a
  /// bound gets its exact time and returns to the queue. No plan can be faster than one whose key is exact: it is run
  /// as `lockstep run` does, and shown if it fits.
  SearchResult run() {
    // In whatever time: no answer is worse than the file's own plan.
    if (const auto own = plant()) find_good_plan(*own, space_.plans_of_file());
    while (fastest_.size() < options_.top && !done() && !settled() && !out_of_time()) {
      if (looks_for_good_plans()) {
        const auto root = queue_.top();
        queue_.pop();
        find_good_plan(root, {});
        continue;
      }
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
    stopped_ = fastest_.size() < options_.top && !done() && !settled();
    if (stopped_) confirm_fastest();
    while (is_interrupted() && fastest_.empty() && !open_.empty()) find_another();
    return result();
  }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }
  [[nodiscard]] bool done() const { return queue_.empty(); }
  /// Whether no plan in the queue is below the time of interest.
  [[nodiscard]] bool settled() const { return !queue_.empty() && queue_.top().bound_s > worth_until_s_; }
  [[nodiscard]] bool is_interrupted() const { return options_.interrupted && options_.interrupted(); }
  [[nodiscard]] bool out_of_time() const { return is_over(options_, started_); }

  /// Branches with a bound above this, the time of the last plan shown, are not looked at.
  [[nodiscard]] double threshold() const { return fastest_.size() < options_.top ? worth_until_s_ : last_s_; }

  /// With a limit, the set of plans with the sizes of the file, if there is one, is not in the queue but returned.
  std::optional<PlanBranch> plant() {
    std::optional<PlanBranch> own;
    for (const auto& root : workers_.roots()) {
      if (options_.limit_s < nothing_yet && root.choice.degrees == space_.degrees_of_file()) {
        own = root;
      } else {
        queue_.push(root);
      }
    }
    bounds_s_ = seconds();
    return own;
  }

  /// The next sets of plans, enough for all threads. The sets after the first are likely, but not certain, to be
  /// needed.
  void look_into_some() {
    constexpr int of_a_thread = 16, most_ahead = 8;  // further ahead, most sets turn out not to be needed
    std::vector<PlanBranch> next;
    int room = workers_.count() > 1 ? of_a_thread * std::min(workers_.count(), most_ahead) : 1;
    while (room > 0 && !queue_.empty() && queue_.top().level != PlanBranch::Level::plan) {
      next.push_back(queue_.top());
      queue_.pop();
      room -= next.back().level == PlanBranch::Level::cost_class
                  ? of_a_thread
                  : 1;  // whose schedules are gone through action by action
    }
    for (const auto& made : below(next)) {
      for (const auto& branch : made.branches) queue_.push(branch);
    }
    tell();
  }

  std::vector<PlanTree::Branches> below(std::span<const PlanBranch> branches) {
    const double started_s = seconds();
    auto made = workers_.below(branches);
    bounds_s_ += seconds() - started_s;
    for (std::size_t i = 0; i < branches.size(); ++i) {
      if (made[i].too_large > 0) too_large_.emplace_back(branches[i].bound_s, made[i].too_large);
    }
    return made;
  }

  /// With a limit, until a plan fits, and then for a quarter of the time.
  [[nodiscard]] bool looks_for_good_plans() const {
    return options_.limit_s < nothing_yet && queue_.top().level != PlanBranch::Level::plan &&
           (incumbent_s_ == nothing_yet || good_plans_s_ < seconds() / 4);
  }

  /// Below a branch: one of the plans wanted or, if there are none, one that seems good.
  void find_good_plan(const PlanBranch& root, const std::vector<PlanChoice>& wanted) {
    const double started_s = seconds();
    const auto plan = wanted.empty() ? best_below(root) : wanted_below(root, wanted);
    if (plan && !timed_.contains(plan->choice)) {
      workers_.start(*plan);
      for (const auto& [timed, step_s] : workers_.wait()) {
        take(timed, step_s);
        if (step_s < incumbent_s_ && fits(figures_of(timed.choice))) incumbent_s_ = step_s;
      }
    }
    good_plans_s_ += seconds() - started_s;
    tell();
  }

  /// The plan below a branch that has the lowest bound, as it seems; everything else that is found there goes into the
  /// queue.
  std::optional<PlanBranch> best_below(const PlanBranch& root) {
    std::vector<PlanBranch> open{root};
    std::optional<PlanBranch> found;
    while (!open.empty() && !found) {
      const auto best = std::min_element(open.begin(), open.end(), [&](const PlanBranch& a, const PlanBranch& b) {
        return expected_s(a) < expected_s(b);
      });
      const auto branch = *best;
      open.erase(best);
      if (branch.level == PlanBranch::Level::plan) {
        found = branch;
      } else {
        const auto made = std::move(below({&branch, 1}).front().branches);
        open.insert(open.end(), made.begin(), made.end());
      }
    }
    for (const auto& branch : open) queue_.push(branch);
    return found;
  }

  [[nodiscard]] bool may_hold(const PlanBranch& branch, const PlanChoice& plan) const {
    const auto& choice = branch.choice;
    switch (branch.level) {
      case PlanBranch::Level::degrees: return choice.degrees == plan.degrees;
      case PlanBranch::Level::tokens:
        return std::tie(choice.recompute, choice.microbatches) == std::tie(plan.recompute, plan.microbatches);
      case PlanBranch::Level::step: return choice.zero == plan.zero;
      case PlanBranch::Level::cost_class: {
        const auto& forms = space_.schedule_forms(plan.degrees.pipeline, plan.microbatches);
        return std::any_of(forms.begin(), forms.end(), [&](const auto& form) {
          return form.front() == choice.schedule && std::find(form.begin(), form.end(), plan.schedule) != form.end();
        });
      }
      case PlanBranch::Level::plan: return choice == plan;
    }
    return false;
  }

  /// Of the plans wanted below a branch, that with the lowest bound, if one may fit; everything else that is found
  /// there goes into the queue.
  std::optional<PlanBranch> wanted_below(const PlanBranch& root, const std::vector<PlanChoice>& wanted) {
    std::vector<PlanBranch> open{root};
    std::optional<PlanBranch> found;
    while (!open.empty()) {
      const auto made = below(open);
      open.clear();
      for (const auto& from : made) {
        for (const auto& branch : from.branches) {
          if (std::none_of(wanted.begin(), wanted.end(), [&](const auto& plan) { return may_hold(branch, plan); })) {
            queue_.push(branch);
          } else if (branch.level != PlanBranch::Level::plan) {
            open.push_back(branch);
          } else {
            if (found) queue_.push(goes_first(branch, *found) ? *found : branch);
            if (!found || goes_first(branch, *found)) found = branch;
          }
        }
      }
    }
    return found;
  }

  /// The bound, and more where there is little room in memory: plans hold more than their bound knows of.
  [[nodiscard]] double expected_s(const PlanBranch& branch) const {
    const double full = static_cast<double>(branch.bytes) / static_cast<double>(space_.memory().value());
    return branch.bound_s * (1 + 2 * std::max(0.0, full - 0.85));
  }

  /// As `lockstep run` simulates it, once.
  const PlanFigures& figures_of(const PlanChoice& choice) {
    const auto known = figures_.find(choice);
    return known != figures_.end() ? known->second : figures_.emplace(choice, workers_.figures(choice)).first->second;
  }
  [[nodiscard]] bool fits(const PlanFigures& figures) const { return figures.peak_bytes <= space_.memory().value(); }

  /// Simulates the fastest of the plans that were timed before the search was stopped, in the order of their times.
  void confirm_fastest() {
    for (auto rest = std::exchange(queue_, {}); !rest.empty(); rest.pop()) {
      const auto& branch = rest.top();
      const bool is_timed = branch.level == PlanBranch::Level::plan && timed_.contains(branch.choice);
      if (is_timed && fastest_.size() < options_.top) {
        confirm(branch, timed_.at(branch.choice));
      } else if (!is_timed) {
        open_.push_back(branch);
      }
    }
  }

  /// After an interrupt before any plan was known to fit.
  void find_another() {
    for (const auto& branch : std::exchange(open_, {})) queue_.push(branch);
    const auto root = queue_.top();
    queue_.pop();
    find_good_plan(root, {});
    confirm_fastest();
  }

  /// Times the next plans exactly, one for each job at a time, as long as some are likely to be needed. Sets of plans
  /// with as low a bound are split to find more.
  void time_some() {
    const double first_s = queue_.top().bound_s;
    std::size_t running = 0;
    for (;;) {
      // Until there is a time to compare bounds with, nobody knows which plans will be needed.
      const auto missing = options_.top - fastest_.size();
      while (!out_of_time() && workers_.has_room() && (unconfirmed_.size() >= missing || running < 4 * missing)) {
        const auto next = likely_next(first_s);
        if (!next) break;
        workers_.start(*next);
        ++running;
      }
      if (workers_.none_runs()) return;
      for (const auto& [plan, step_s] : workers_.wait()) {
        take(plan, step_s);
        --running;
      }
      tell();
    }
  }

  /// Removes from the queue the next plan that is likely to be needed; none if there is no such plan.
  std::optional<PlanBranch> likely_next(double first_s) {
    while (!queue_.empty() && queue_.top().bound_s <= likely_below(first_s) && !out_of_time()) {
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

  /// The bound up to which plans are likely to be needed: the time of the last plan that would be shown if the fastest
  /// plans timed so far fit, or, before enough plans are timed, a little above the next bound.
  [[nodiscard]] double likely_below(double next_bound_s) const {
    const auto missing = options_.top - fastest_.size();
    const double likely = unconfirmed_.size() < missing
                              ? 1.001 * next_bound_s
                              : *std::next(unconfirmed_.begin(), static_cast<std::ptrdiff_t>(missing) - 1);
    return std::min(likely, worth_until_s_);
  }

  void confirm(const PlanBranch& branch, double bound_s) {
    unconfirmed_.erase(unconfirmed_.find(branch.bound_s));
    const RankedPlan plan{branch.choice, bound_s, figures_of(branch.choice)};
    last_s_ = branch.bound_s;
    if (fits(plan.figures)) {
      fastest_.insert(plan);
      if (options_.worth_until) worth_until_s_ = options_.worth_until(plan);
    } else {
      ++did_not_fit_;
    }
    tell();
  }

  void tell() const {
    if (!options_.progress) return;
    const double bound_s = queue_.empty() ? last_s_ : queue_.top().bound_s;
    const double best_s = !fastest_.empty()       ? fastest_.begin()->figures.step_s
                          : !unconfirmed_.empty() ? *unconfirmed_.begin()
                                                  : 0;
    char text[160], best[80] = "no plan timed yet";
    if (!fastest_.empty()) {
      std::snprintf(best, sizeof best, "best %.4g s, proven", best_s);
    } else if (best_s > 0) {
      std::snprintf(best, sizeof best, "best so far %.4g s, gap %.1f %%", best_s,
                    100 * std::max(0.0, 1 - bound_s / best_s));
    }
    std::snprintf(text, sizeof text, "%s; %zu of %zu found, others from %.4g s; %lld bounds, %zu timed", best,
                  fastest_.size(), options_.top, bound_s, static_cast<long long>(workers_.bounds()), timed_.size());
    options_.progress(text, static_cast<double>(fastest_.size()) / static_cast<double>(options_.top));
  }

  /// Plans are counted by the final threshold, so that the figures do not depend on which simulations ran together.
  SearchResult result() const {
    SearchResult result;
    result.best.assign(fastest_.begin(), fastest_.end());
    auto& proof = result.proof;
    proof.space = space_.size();
    for (const auto& [bound_s, plans] : too_large_) proof.pruned_by_memory += bound_s <= threshold() ? plans : 0;
    for (const auto& [choice, bound_s] : timed_) proof.simulated += bound_s <= threshold() ? 1 : 0;
    proof.did_not_fit = did_not_fit_;
    result.stopped = stopped_;
    result.all_of_interest = !stopped_ && (done() || settled());
    for (const auto& branch : open_) {
      if (branch.bound_s > threshold()) continue;
      proof.lowest_open_s = proof.open == 0 ? branch.bound_s : std::min(proof.lowest_open_s, branch.bound_s);
      proof.open += branch.plans;
    }
    proof.pruned_by_bound = proof.space - proof.pruned_by_memory - proof.simulated - proof.open;
    result.bounds = workers_.bounds();
    result.wall_s = seconds();
    result.bounds_s = bounds_s_;
    if (options_.progress) options_.progress("done", 1);
    return result;
  }

  const PlanSpace& space_;
  const SearchOptions& options_;
  PlanWorkers& workers_;
  Clock::time_point started_ = Clock::now();
  std::priority_queue<PlanBranch, std::vector<PlanBranch>, GoesLater> queue_;
  std::set<RankedPlan, Faster> fastest_;
  double last_s_ = 0;  ///< of the plans whose turn has come
  std::vector<std::pair<double, std::int64_t>>
      too_large_;                       ///< bound of the branch that was looked into, plans left out there
  std::map<PlanChoice, double> timed_;  ///< plans whose key is exact; their bounds
  std::multiset<double> unconfirmed_;   ///< exact keys of those whose turn has not come
  std::int64_t did_not_fit_ = 0;
  double bounds_s_ = 0, good_plans_s_ = 0;     ///< time spent on either
  std::map<PlanChoice, PlanFigures> figures_;  ///< of plans simulated as they are shown
  double incumbent_s_ = nothing_yet;           ///< of the best plan that is known to fit, before its turn
  double worth_until_s_ = nothing_yet;         ///< SearchOptions::worth_until
  bool stopped_ = false;
  std::vector<PlanBranch> open_;  ///< of a search that was stopped
};

}  // namespace

double compared_time(double step_s) {
  const double unit = std::pow(10, std::floor(std::log10(step_s)) - 8);
  return std::round(step_s / unit) * unit;
}

double SearchResult::gap() const {
  return proof.open == 0 || best.empty() ? 0 : std::max(0.0, 1 - proof.lowest_open_s / best.front().figures.step_s);
}

bool is_over(const SearchOptions& options, std::chrono::steady_clock::time_point started) {
  const std::chrono::duration<double> used = std::chrono::steady_clock::now() - started;
  return used.count() >= options.limit_s || (options.interrupted && options.interrupted());
}

SearchResult search_plans(const PlanSpace& space, const SearchOptions& options, PlanWorkers& workers) {
  auto result = Search(space, options, workers).run();
  draw_paths(space, result.best);
  return result;
}

SearchResult search_plans(const PlanSpace& space, const SearchOptions& options, spdlog::logger& log) {
  LocalWorkers workers(space, options.jobs, options.engine, log);
  return search_plans(space, options, workers);
}

}  // namespace lockstep::planning
