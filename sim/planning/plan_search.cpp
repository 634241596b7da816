#include "sim/planning/plan_search.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <queue>
#include <set>

#include "sim/isolated.hpp"
#include "sim/planning/plan_tree.hpp"

namespace lockstep {
namespace {

constexpr double nothing_yet = std::numeric_limits<double>::infinity();

/// Of the metrics of a run only what a comparison of plans shows.
PlanFigures figures_of(const Scenario& scenario, const Preparation& preparation, const Program& program, const Timeline& timeline) {
  PlanFigures figures;
  const auto rank = critical_rank(timeline);
  const auto breakdown = breakdown_of(program, timeline, rank);
  figures.step_s = timeline.makespan().value();
  figures.compute_s = breakdown.compute.value();
  figures.bubble_s = breakdown.bubble.value();
  for (const auto& use : communication_of(preparation.step, program, timeline, rank)) {
    const auto axis = std::find(plan_axes.begin(), plan_axes.end(), use.axis == "fsdp" ? "data" : use.axis);
    figures.exposed_s[static_cast<std::size_t>(axis - plan_axes.begin())] += use.exposed.value();
  }
  const auto& batch = scenario.batch;
  const double forward = forward_flops_per_token(scenario.model, batch.sequence_length, scenario.training.causal_attention);
  const double flops = 3 * forward * static_cast<double>(batch.sequences * batch.sequence_length);
  figures.mfu = flops / (static_cast<double>(preparation.cluster->devices()) * rates_of(scenario).flops.value() * figures.step_s);
  const auto capacity = preparation.cluster->chip().memory;
  auto fullest = memory_of(preparation.step, program, timeline, rank, capacity);
  for (const auto lane : last_rank_of_stages(program, timeline)) {
    auto memory = memory_of(preparation.step, program, timeline, lane, capacity);
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

PlanFigures figures_in(const std::string& text) {
  PlanFigures figures;
  std::memcpy(&figures, text.data(), std::min(text.size(), sizeof figures));
  return figures;
}

struct GoesLater {
  bool operator()(const PlanBranch& a, const PlanBranch& b) const { return goes_first(b, a); }
};

struct Faster {
  bool operator()(const RankedPlan& a, const RankedPlan& b) const { return std::tie(a.figures.step_s, a.choice) < std::tie(b.figures.step_s, b.choice); }
};

class Search {
 public:
  Search(const PlanSpace& space, const SearchOptions& options, spdlog::logger& log) : space_(space), options_(options), log_(log), tree_(space) {}

  SearchResult run() {
    const auto started = Clock::now();
    expand([&] { return tree_.roots(); }, 0);
    while (true) {
      while (std::ssize(running_) < options_.jobs && !queue_.empty() && queue_.top().floor_s <= threshold()) advance();
      if (running_.empty()) break;
      take_one();
    }
    return result(std::chrono::duration<double>(Clock::now() - started).count());
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Only plans whose floor is above this may be left out: the last plan to be shown, as far as known.
  [[nodiscard]] double threshold() const { return fastest_.size() < options_.top ? nothing_yet : fastest_.rbegin()->figures.step_s; }

  template <class Make>
  void expand(Make make, double floor_s) {
    const auto started = Clock::now();
    auto made = make();
    floors_s_ += std::chrono::duration<double>(Clock::now() - started).count();
    if (made.too_large > 0) too_large_.emplace_back(floor_s, made.too_large);
    for (auto& branch : made.branches) queue_.push(branch);
  }

  /// Looks into the first branch of the queue.
  void advance() {
    const auto branch = queue_.top();
    queue_.pop();
    if (branch.level != PlanBranch::Level::plan) {
      expand([&] { return tree_.below(branch); }, branch.floor_s);
      return;
    }
    running_.emplace_back([&] {
      const auto figures = simulated_figures(space_, branch.choice, options_.engine, log_);
      return std::string(reinterpret_cast<const char*>(&figures), sizeof figures);
    });
    branches_.push_back(branch);
  }

  void take_one() {
    const auto ready = Child::first_ready(running_);
    const auto branch = branches_[ready];
    auto child = std::move(running_[ready]);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(ready));
    branches_.erase(branches_.begin() + static_cast<std::ptrdiff_t>(ready));
    RankedPlan plan{branch.choice, branch.floor_s, figures_in(child.answer())};
    if (plan.figures.step_s < plan.floor_s) throw InternalError("planning: a floor of " + std::to_string(plan.floor_s) + " s above a step of " + std::to_string(plan.figures.step_s) + " s");
    const bool fits = plan.figures.peak_bytes <= space_.memory().value();
    simulated_.emplace_back(branch.floor_s, fits);
    if (fits) {
      fastest_.insert(plan);
      if (fastest_.size() > options_.top) fastest_.erase(std::prev(fastest_.end()));
    }
    tell();
  }

  void tell() const {
    if (!options_.progress) return;
    const double best = fastest_.empty() ? nothing_yet : fastest_.begin()->figures.step_s;
    const double floor = queue_.empty() ? best : std::min(best, queue_.top().floor_s);
    char text[160];
    std::snprintf(text, sizeof text, "%zu simulated, best %.4g s, nothing below %.4g s (gap %.2f %%)", simulated_.size(), best, floor,
                  best < nothing_yet ? (best - floor) / best * 100 : 100.0);
    options_.progress(text, best < nothing_yet ? floor / best : 0);
  }

  /// Counted by the final threshold, so that the figures do not depend on what ran at the same time.
  SearchResult result(double wall_s) const {
    SearchResult result;
    result.best.assign(fastest_.begin(), fastest_.end());
    auto& proof = result.proof;
    proof.space = space_.size();
    for (const auto& [floor_s, plans] : too_large_) proof.pruned_by_memory += floor_s <= threshold() ? plans : 0;
    for (const auto& [floor_s, fits] : simulated_) {
      if (floor_s > threshold()) continue;
      ++proof.simulated;
      proof.did_not_fit += fits ? 0 : 1;
    }
    proof.pruned_by_bound = proof.space - proof.pruned_by_memory - proof.simulated;
    result.floors = tree_.floors();
    result.wall_s = wall_s;
    result.floors_s = floors_s_;
    if (options_.progress) options_.progress("done", 1);
    return result;
  }

  const PlanSpace& space_;
  const SearchOptions& options_;
  spdlog::logger& log_;
  PlanTree tree_;
  std::priority_queue<PlanBranch, std::vector<PlanBranch>, GoesLater> queue_;
  std::vector<Child> running_;
  std::vector<PlanBranch> branches_;  ///< of the running children
  std::set<RankedPlan, Faster> fastest_;
  std::vector<std::pair<double, std::int64_t>> too_large_;  ///< floor of the branch that was looked into, plans left out there
  std::vector<std::pair<double, bool>> simulated_;          ///< floor, whether it fits
  double floors_s_ = 0;
};

}  // namespace

SearchResult search_plans(const PlanSpace& space, const SearchOptions& options, spdlog::logger& log) { return Search(space, options, log).run(); }

PlanFigures simulated_figures(const PlanSpace& space, const PlanChoice& choice, EngineKind engine, spdlog::logger& log) {
  const auto scenario = space.scenario(space.node_of(choice), choice);
  const auto preparation = prepare(scenario);
  const auto folded = fold(lower_with_perturbations(scenario, preparation));
  const auto result = run(folded.program, {engine, {}, false}, log);
  return figures_of(scenario, preparation, folded.program, result.timeline);
}

}  // namespace lockstep
