#include "sim/studies/planning/robust_plans.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>

#include "sim/studies/isolated.hpp"
#include "sim/studies/planning/why_unproven.hpp"

namespace lockstep::planning {
namespace {

/// Our solver shares links as SimGrid does to 1e-9, so the draws and the healthy step may differ by so much.
constexpr double rounding = 1e-8;

/// Of each draw the fastest of some plans.
std::vector<double> fastest_of_draws(const std::vector<const StepDraws*>& plans) {
  std::vector<double> fastest(plans.front()->count(), std::numeric_limits<double>::infinity());
  for (const auto* plan : plans) {
    for (std::size_t draw = 0; draw < fastest.size(); ++draw)
      fastest[draw] = std::min(fastest[draw], plan->in_order()[draw].value());
  }
  return fastest;
}

class Drawing {
 public:
  Drawing(const PlanSpace& space, const SearchOptions& search, const RobustOptions& options, spdlog::logger& log)
      : space_(space), search_(search), options_(options), log_(log) {
    for (const auto& cause : causes_of(space.base())) {
      if (!cause.only_rates && no_bound_.empty()) no_bound_ = cause.name;
    }
  }

  /// The healthy step above which no plan can be the best.
  double take(const RankedPlan& plan) {
    if (!plans_.empty() && is_over(search_, started_)) return worth_until_s();
    const auto scenario = space_.scenario(space_.node_of(plan.choice), plan.choice);
    auto steps = drawn(scenario, Seconds(plan.figures.step_s));
    if (steps.best().value() < plan.figures.step_s * (1 - rounding)) ++faster_than_healthy_;
    plans_.push_back({plan, std::move(steps), 0});
    return no_bound_.empty() ? worth_until_s() : std::numeric_limits<double>::infinity();
  }

  RobustPlans result(SearchResult search) {
    RobustPlans result{std::move(search), {}, 0, ""};
    if (plans_.empty()) return result;
    set_regrets();
    result.worth_until_s = worth_until_s();
    result.unproven = why_unproven(result);
    result.plans = std::move(plans_);
    std::stable_sort(result.plans.begin(), result.plans.end(), [&](const DrawnPlan& a, const DrawnPlan& b) {
      const auto key = [&](const DrawnPlan& one) {
        const double figure = one.figure_s(options_.objective);
        return std::tuple(figure > 0 ? compared_time(figure) : 0, compared_time(one.plan.figures.step_s),
                          one.plan.choice);
      };
      return key(a) < key(b);
    });
    return result;
  }

 private:
  /// The draws are shared out to as many processes as the search has jobs.
  [[nodiscard]] StepDraws drawn(const scenario::Scenario& scenario, Seconds healthy) const {
    const auto prepared = preparation::prepare(scenario);
    const int parts = std::min(search_.jobs, options_.draws);
    const auto first_of = [&](std::size_t part) {
      return static_cast<int>(std::int64_t{options_.draws} * static_cast<std::int64_t>(part) / parts);
    };
    std::vector<double> times(position_of(options_.draws));
    studies::in_children(
        position_of(parts), parts,
        [&](std::size_t part) {
          DistributionOptions drawing;
          drawing.draws = options_.draws;
          drawing.engine = search_.engine;
          drawing.each_alone = false;
          drawing.part = {first_of(part), first_of(part + 1)};
          const auto steps = step_distribution(scenario, prepared, healthy, drawing, log_).steps.in_order();
          std::string text;
          for (const auto step : steps) {
            const double seconds = step.value();
            text.append(reinterpret_cast<const char*>(&seconds), sizeof seconds);
          }
          return text;
        },
        [&](std::size_t part, const studies::Answer& answer) {
          const auto text = answer.text();
          std::memcpy(times.data() + first_of(part), text.data(), text.size());
        });
    std::vector<Seconds> steps;
    for (const double seconds : times) steps.emplace_back(seconds);
    return StepDraws(std::move(steps));
  }

  [[nodiscard]] std::vector<const StepDraws*> draws() const {
    std::vector<const StepDraws*> draws;
    for (const auto& plan : plans_) draws.push_back(&plan.steps);
    return draws;
  }

  void set_regrets() {
    const auto regrets = largest_regrets(draws());
    for (std::size_t i = 0; i < plans_.size(); ++i) plans_[i].regret_s = regrets[i];
  }

  /// Of a plan with healthy step h each draw takes h at least. For the median and the 95th percentile, h must be below
  /// the best one. For the regret, h must be so small that the plan is the fastest in some draw, or that its regret in
  /// the draw that is the fastest of all is below the best one.
  [[nodiscard]] double worth_until_s() {
    double best = std::numeric_limits<double>::infinity();
    if (options_.objective == Objective::regret) set_regrets();
    for (const auto& plan : plans_) best = std::min(best, plan.figure_s(options_.objective));
    if (options_.objective == Objective::regret) {
      const auto fastest = fastest_of_draws(draws());
      const auto [least, most] = std::minmax_element(fastest.begin(), fastest.end());
      best = std::max(*most, *least + best);
    }
    return best * (1 + rounding);
  }

  [[nodiscard]] std::string why_unproven(const RobustPlans& result) const {
    if (!no_bound_.empty())
      return no_bound_ + " differ from step to step and can make one faster, so a healthy step bounds no draw";
    if (faster_than_healthy_ > 0)
      return "a draw of " + std::to_string(faster_than_healthy_) +
             " of the plans was faster than its healthy step, which therefore bounds no draw";
    return planning::why_unproven(result.search, search_.top, result.worth_until_s);
  }

  const PlanSpace& space_;
  const SearchOptions& search_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  const RobustOptions& options_;
  spdlog::logger& log_;
  std::string no_bound_;  ///< a cause whose steps are not slower than the healthy one
  std::int64_t faster_than_healthy_ = 0;
  std::vector<DrawnPlan> plans_;
};

}  // namespace

double DrawnPlan::figure_s(Objective objective) const {
  switch (objective) {
    case Objective::median: return steps.median().value();
    case Objective::p95: return steps.quantile(0.95).value();
    case Objective::regret: return regret_s;
  }
  return 0;
}

std::vector<double> largest_regrets(const std::vector<const StepDraws*>& plans) {
  const auto fastest = fastest_of_draws(plans);
  std::vector<double> regrets;
  for (const auto* plan : plans) {
    double largest = 0;
    for (std::size_t draw = 0; draw < fastest.size(); ++draw)
      largest = std::max(largest, plan->in_order()[draw].value() - fastest[draw]);
    regrets.push_back(largest);
  }
  return regrets;
}

RobustPlans search_robust_plans(const PlanSpace& space, SearchOptions search, const RobustOptions& options,
                                spdlog::logger& log) {
  Drawing drawing(space, search, options, log);
  auto asking = search;
  asking.worth_until = [&](const RankedPlan& plan) { return drawing.take(plan); };
  return drawing.result(search_plans(space, asking, log));
}

}  // namespace lockstep::planning
