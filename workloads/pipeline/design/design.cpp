#include "workloads/pipeline/design/design.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/errors.hpp"
#include "workloads/pipeline/design/exact_search.hpp"
#include "workloads/pipeline/design/list_words.hpp"
#include "workloads/pipeline/design/local_search.hpp"
#include "workloads/pipeline/design/published_words.hpp"
#include "workloads/pipeline/design/repeating_period.hpp"
#include "workloads/pipeline/design/word_timing.hpp"

namespace lockstep::workloads {
namespace {

constexpr std::int64_t most_letters_of_search = 2'000'000;  ///< of a problem; beyond, published orders only
constexpr std::int64_t most_letters_of_lists = 200'000;
constexpr std::int64_t most_letters_of_branching = 150;
constexpr std::int64_t most_works = 3'000'000;
constexpr std::int64_t most_letters_of_what_ifs = 200'000;  ///< of all ranks' together; beyond, no new candidates

/// A scenario or a plan that names the design makes it for every step that it times.
constexpr DesignEffort of_a_step{30'000'000, 50'000};

std::optional<ScheduleProblem> placement_problem(const ScheduleRequest& request) {
  using enum StagePlacement;
  const auto chunks = *request.chunks;
  if (std::int64_t{3} * request.ranks * chunks * request.microbatches > most_works)
    return ScheduleProblem{"microbatches", "the design would have more than " + std::to_string(most_works) + " works",
                           "fewer stages, chunks or microbatches"};
  for (const auto placement : request.placements) {
    const bool one = placement == linear || placement == bidirectional;
    const auto named = "design on placement " + std::string(name(placement)) + " with " + std::to_string(chunks) +
                       (chunks == 1 ? " chunk" : " chunks") + " per rank";
    if (one && chunks != 1) return ScheduleProblem{"placement", named, "1 chunk per rank"};
    if (placement == v && chunks != 2) return ScheduleProblem{"placement", named, "2 chunks per rank"};
    if (!one && chunks < 2) return ScheduleProblem{"placement", named, "2 or more chunks per rank"};
    if (placement == bidirectional && (request.ranks % 2 != 0 || request.microbatches % 2 != 0))
      return ScheduleProblem{"placement", named, "an even number of ranks and of microbatches: halves meet"};
  }
  return {};
}

std::vector<StagePlacement> placements_of(const ScheduleRequest& request) {
  if (!request.placements.empty()) return request.placements;
  return {find_schedule(request.name)->placement_for(*request.chunks)};
}

/// An order of one problem while it is sought.
class Designing {
 public:
  Designing(const DesignProblem& problem, const DesignEffort& effort)
      : problem_(problem), effort_(effort), least_(problem), timing_(problem), bound_(least_.bound().makespan) {
    why_ = least_.bound().why;
  }

  void try_words(Words words) {
    if (!problem_.fits(words)) return;
    const double makespan = timing_.run(words);
    if (makespan == WordTiming::never) return;
    const double span = timing_.longest_span(words);
    const auto like = [&](const Candidate& other) {
      return std::abs(other.makespan - makespan) <= problem_.tolerance &&
             std::abs(other.span - span) <= problem_.tolerance;
    };
    if (std::any_of(candidates_.begin(), candidates_.end(), like)) return;
    candidates_.push_back({makespan, span, std::move(words)});
    // Among equal makespans the shorter span wins: ranks that need not wait for an optimizer begin their next step
    // sooner.
    std::stable_sort(candidates_.begin(), candidates_.end(), [&](const Candidate& a, const Candidate& b) {
      if (std::abs(a.makespan - b.makespan) > problem_.tolerance) return a.makespan < b.makespan;
      return a.span < b.span - problem_.tolerance;
    });
    if (candidates_.size() > most_candidates) candidates_.pop_back();
  }

  void search() {
    if (problem_.letters() > most_letters_of_search) return;
    try_lists();
    if (!done()) {
      for (auto& words : repeating_period_words(problem_)) try_words(std::move(words));
    }
    if (!done() && problem_.letters() <= most_letters_of_branching) branch();
    // Most of the effort for different starts, since none is sure to lead on; the rest for the best that they lead to.
    const auto starts = candidates_;
    double tried = 0;
    for (const auto& start : starts) {
      effort_.tell("moving works", tried++ / static_cast<double>(starts.size() + 1));
      if (!done()) try_words(local_of(start.words, effort_.letters * 3 / 4 / std::ssize(starts)));
    }
    if (!done()) try_words(local_of(words(), effort_.letters / 4));
  }

  /// Moves letters of the best order so far only.
  void improve() {
    if (!done()) try_words(local_of(words(), effort_.letters));
  }

  [[nodiscard]] bool has_words() const { return !candidates_.empty(); }
  [[nodiscard]] const Words& words() const { return candidates_.front().words; }
  [[nodiscard]] double makespan() const { return candidates_.front().makespan; }
  [[nodiscard]] double bound() const {
    if (bound_ > makespan() * (1 + 1e-6)) throw InternalError("a pipeline's order ends before its lower bound");
    return std::min(bound_, makespan());  // rounding may swap them
  }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  static constexpr std::size_t most_candidates = 10;
  struct Candidate {
    double makespan = 0, span = 0;
    Words words;
  };

  [[nodiscard]] bool done() const {
    return has_words() && (makespan() <= bound_ + problem_.tolerance || effort_.is_stopped());
  }
  [[nodiscard]] Words local_of(const Words& words, std::int64_t letters) const {
    return local_search(problem_, words, bound_, letters, effort_.stopped);
  }

  void try_lists() {
    const bool many = problem_.letters() > most_letters_of_lists;
    const auto ranks = problem_.shape.ranks;
    for (const double cap : {1.0, 0.85, 0.7}) {
      for (const double taper : {0.0, 1.0}) {
        ListRule rule{problem_.limits};
        for (const auto rank : rule.caps.ids()) {
          // Later ranks get their gradients back sooner, so they need to hold less.
          const double whole = problem_.activations.forward * problem_.shape.chunks;
          auto& limit = rule.caps[rank];
          const double least = std::min(limit, whole * (1 + 1e-9) + std::max(0.0, problem_.activations.input_gradient));
          limit = std::max(least, cap * limit * (1 - taper * rank / (ranks + 1.0)) + 1e-9 * whole);
          limit = std::min(limit, problem_.limits[rank]);
        }
        for (const double patience : {0.0, 0.5, 1.0}) {
          for (const double hold : {0.0, 0.5, 1.0}) {
            for (const bool first : {false, true}) {
              if (done()) return;
              if (many && (patience > 0 || hold > 0 || cap < 1)) continue;
              rule.patience = patience;
              rule.hold = hold;
              rule.weights_first = first;
              if (auto words = list_words(problem_, rule)) try_words(std::move(*words));
            }
          }
        }
      }
    }
  }

  void branch() {
    auto exact = exact_search(problem_, least_, makespan(), effort_.nodes);
    if (exact.words) try_words(std::move(*exact.words));
    if (exact.complete) {
      bound_ = makespan();
      why_ = "every order: a branch and bound ruled out all shorter ones";
      return;
    }
    // Orders shorter than something between bound and makespan may be ruled out.
    double low = bound_, high = makespan();
    for (int halving = 0; halving < 3 && high - low > 1e-3 * high; ++halving) {
      const double middle = (low + high) / 2;
      exact = exact_search(problem_, least_, middle, effort_.nodes);
      if (exact.words) try_words(std::move(*exact.words));
      if (exact.words)
        high = makespan();
      else if (exact.complete)
        low = middle - problem_.tolerance;
      else
        high = middle;
    }
    if (low > bound_) {
      bound_ = low;
      why_ = "every order: a branch and bound ruled out those that are shorter than this";
    }
  }

  const DesignProblem& problem_;
  const DesignEffort& effort_;
  LeastTimes least_;
  WordTiming timing_;
  double bound_;
  std::string why_;
  std::vector<Candidate> candidates_;
};

PipelineOrder naive_order_of(const DesignProblem& problem) {
  PipelineOrder order;
  order.shape = problem.shape;
  order.ranks.resize(problem.shape.ranks);
  for (MicrobatchId m = 0; m < problem.shape.microbatches; ++m) {
    const auto stages = problem.shape.virtual_stages();
    for (VirtualStageId stage = 0; stage < stages; ++stage)
      order.ranks[problem.shape.rank_of(stage, m)].push_back({{PipelineWork::forward, stage, m}, {}});
    for (auto stage = stages; stage-- > 0;)
      order.ranks[problem.shape.rank_of(stage, m)].push_back({{PipelineWork::backward, stage, m}, {}});
  }
  return order;
}

/// Searches again, less long, from a design's order on its placement, where the request may have changed.
class Redesign {
 public:
  Redesign(const ScheduleRequest& asked, const Design& design, const DesignEffort& effort)
      : request(completed(asked)), shape_(design.order.shape) {
    request.placements = {shape_.placement};
    const auto problem = design_problem(request, shape_.placement, shape_.chunks);
    words_ = words_of(problem, design.order);
    tolerance_ = problem.tolerance;
    is_small_ = problem.letters() * (shape_.ranks + 1) <= most_letters_of_what_ifs;
    effort_.stopped = effort.stopped;
    effort_.nodes = 0;
    effort_.letters = std::min<std::int64_t>(effort_.letters / (4 * (shape_.ranks + 1)), 20'000'000);
  }

  struct Found {
    double makespan = 0, lower_bound = 0;
  };
  [[nodiscard]] Found search() const {
    const auto problem = design_problem(request, shape_.placement, shape_.chunks);
    Designing designing(problem, effort_);
    designing.try_words(words_);
    if (is_small_) {
      designing.search();
    } else {
      designing.improve();
    }
    return {designing.makespan(), designing.bound()};
  }
  [[nodiscard]] double tolerance() const { return tolerance_; }

  ScheduleRequest request;

 private:
  const PipelineShape& shape_;
  Words words_;
  double tolerance_ = 0;
  bool is_small_ = false;
  DesignEffort effort_;
};

PipelineOrder design_order(const ScheduleRequest& request) { return design_pipeline(request, of_a_step).order; }

}  // namespace

Design design_pipeline(const ScheduleRequest& asked, const DesignEffort& effort) {
  const auto request = completed(asked);
  Design made;
  for (const auto placement : placements_of(request)) {
    const auto problem = design_problem(request, placement, *request.chunks);
    Designing designing(problem, effort);
    for (auto& published : published_words(problem, request)) {
      const double makespan = time_order(published.order, request.times).makespan;
      made.published.push_back({published.name, std::move(published.order), makespan});
      designing.try_words(std::move(published.words));
    }
    designing.try_words(words_of(problem, naive_order_of(problem)));  // one microbatch at a time always fits
    designing.search();
    if (made.order.ranks.empty() || designing.makespan() < made.makespan) {
      made.makespan = designing.makespan();
      made.order = order_of(problem, designing.words());
    }
    if (made.bounded_by.empty() || designing.bound() < made.lower_bound) {
      made.lower_bound = designing.bound();
      made.bounded_by = designing.why();
    }
    made.limits.clear();
    for (const double limit : problem.limits)
      made.limits.push_back(limit / problem.activations.forward / problem.shape.chunks / (1 + 1e-9));
  }
  std::stable_sort(made.published.begin(), made.published.end(),
                   [](const PublishedOrder& a, const PublishedOrder& b) { return a.makespan < b.makespan; });
  made.order.schedule = request.name;
  made.stopped = effort.is_stopped();
  return made;
}

std::vector<MoreMemory> with_more_memory(const ScheduleRequest& asked, const Design& design,
                                         const DesignEffort& effort) {
  Redesign again(asked, design, effort);
  const auto& shape = design.order.shape;
  const auto& activations = again.request.activations;
  const double step = std::max(1e-9, -activations.input_gradient / activations.forward / shape.chunks);
  std::vector<MoreMemory> found;
  for (StageId rank = -1; rank < shape.ranks && !effort.is_stopped(); ++rank) {
    effort.tell("trying more memory", (rank + 1.0) / (shape.ranks + 1));
    auto& limits = again.request.memory_limit = design.limits;
    for (StageId other = 0; other < shape.ranks; ++other) {
      auto& limit = limits[position_of(other)];
      if (rank < 0 || rank == other) limit += std::max(step, 0.1 * limit);
    }
    const auto [makespan, bound] = again.search();
    found.push_back({rank, limits[position_of(std::max(rank, 0))], makespan, bound});
  }
  std::stable_sort(found.begin(), found.end(), [&](const MoreMemory& a, const MoreMemory& b) {
    return a.makespan < b.makespan - again.tolerance();
  });
  return found;
}

std::optional<LessWork> with_less_work(const ScheduleRequest& asked, const Design& design, const DesignEffort& effort) {
  if (effort.is_stopped() || asked.times.pair) return {};  // what a pair takes does not follow from its halves
  effort.tell("trying less work", 0);
  Redesign again(asked, design, effort);
  const auto& shape = design.order.shape;
  const auto busy = time_order(design.order, asked.times).busy;
  const double most = *std::max_element(busy.begin(), busy.end());
  LessWork less;
  auto& times = again.request.times;
  if (times.stages.size() == 1)
    times.stages = Indexed<VirtualStageId, StageTimes>(shape.virtual_stages(), times.stages[0]);
  Indexed<VirtualStageId, bool> is_less(times.stages.count(), false);  // two ranks of ways that meet share a stage
  for (const auto rank : busy.ids()) {
    if (busy[rank] < most * (1 - 1e-9)) continue;
    less.ranks.push_back(rank);
    for (const auto stage : shape.virtual_stages_of(rank)) is_less[stage] = true;
  }
  for (const auto stage : is_less.ids()) {
    if (!is_less[stage]) continue;
    auto& time = times.stages[stage];
    time = {0.9 * time.forward, 0.9 * time.input_gradient, 0.9 * time.weight_gradient};
  }
  again.request.memory_limit = design.limits;
  const auto [makespan, bound] = again.search();
  less.makespan = makespan;
  less.lower_bound = bound;
  return less;
}

extern const Schedule design_schedule = {
    .name = "design",
    .summary = "the best order found for given times, limits and placement, with a bound",
    .placement = StagePlacement::linear,
    .usual_chunks = 1,
    .splits_backward = true,
    .chooses_by_time = true,
    .designs = true,
    .own_rule = placement_problem,
    .order = design_order,
};

}  // namespace lockstep::workloads
