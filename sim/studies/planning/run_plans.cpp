#include "sim/studies/planning/run_plans.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include "sim/studies/goodput/run_facts.hpp"
#include "sim/studies/planning/why_unproven.hpp"

namespace lockstep::planning {
namespace {

class Runs {
 public:
  Runs(const PlanSpace& space, const SearchOptions& search, spdlog::logger& log)
      : space_(space), search_(search), log_(log) {}

  /// The step above which no plan can be the best.
  double take(const RankedPlan& plan) {
    if (!plans_.empty() && is_over(search_, started_)) return worth_until_s();
    const auto scenario = space_.scenario(space_.node_of(plan.choice), plan.choice);
    const auto prepared = preparation::prepare_step(scenario);
    goodput::FactsOptions options;
    options.jobs = search_.jobs;
    try {
      if (!most_goodput_) most_goodput_ = most_goodput_of(scenario, prepared.step.parameters);
      const auto found = run_facts(scenario, prepared, Seconds(plan.figures.step_s), options, log_);
      auto model = run_model(scenario, found.facts);
      auto shares = expected_shares(model);
      const double useful_step_s = plan.figures.step_s / shares.useful;
      plans_.push_back({plan, std::move(model), std::move(shares), useful_step_s});
    } catch (const ConfigError& error) {
      if (!refused_) refused_ = error;
    }
    return worth_until_s();
  }

  RunPlans result(SearchResult search) {
    if (plans_.empty() && refused_) throw ConfigError(*refused_);
    RunPlans result{std::move(search), {}, most_goodput_.value_or(1), worth_until_s(), ""};
    result.unproven = why_unproven(result.search, search_.top, result.worth_until_s);
    result.plans = std::move(plans_);
    std::stable_sort(result.plans.begin(), result.plans.end(), [](const PlanOfRun& a, const PlanOfRun& b) {
      return std::tuple(compared_time(a.useful_step_s), compared_time(a.plan.figures.step_s), a.plan.choice) <
             std::tuple(compared_time(b.useful_step_s), compared_time(b.plan.figures.step_s), b.plan.choice);
    });
    return result;
  }

 private:
  [[nodiscard]] static double most_goodput_of(const scenario::Scenario& scenario, std::int64_t parameters) {
    goodput::RunFacts facts;
    facts.parameters = parameters;
    for (const auto& one : scenario.reliability->classes) {
      facts.broken.emplace_back();
      if (!one.stops) facts.broken.back().push_back({"", 1, 1});
    }
    auto model = run_model(scenario, facts);
    model.share_of_host = 0;
    return expected_shares(model).useful;
  }

  [[nodiscard]] double worth_until_s() const {
    double best_s = std::numeric_limits<double>::infinity();
    for (const auto& plan : plans_) best_s = std::min(best_s, plan.useful_step_s);
    return best_s * most_goodput_.value_or(1) * (1 + 1e-9);
  }

  const PlanSpace& space_;
  const SearchOptions& search_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  spdlog::logger& log_;
  std::optional<double> most_goodput_;
  std::optional<ConfigError> refused_;
  std::vector<PlanOfRun> plans_;
};

}  // namespace

RunPlans search_plans_for_run(const PlanSpace& space, SearchOptions search, spdlog::logger& log) {
  Runs runs(space, search, log);
  auto asking = search;
  asking.worth_until = [&](const RankedPlan& plan) { return runs.take(plan); };
  return runs.result(search_plans(space, asking, log));
}

}  // namespace lockstep::planning
