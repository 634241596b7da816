#include "tools/output/studies/plan_objectives.hpp"

#include <algorithm>

#include "sim/core/counted.hpp"
#include "sim/core/long_time.hpp"
#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/memory_verdict.hpp"
#include "tools/output/studies/goodput_text.hpp"
#include "tools/output/studies/plan_report.hpp"

namespace lockstep::output {
namespace {

using Json = nlohmann::ordered_json;

std::string seconds(double value) { return format(Seconds(value)); }

/// The figure by which plans are compared, in words.
std::string words(const planning::RobustOptions& options) {
  const auto draws = counted(options.draws, "draw");
  switch (options.objective) {
    case planning::Objective::median: return "median of " + draws;
    case planning::Objective::p95: return "95th percentile of " + draws;
    case planning::Objective::regret: return "largest regret in " + draws;
  }
  return "";
}

std::string best_lines(const planning::PlanSpace& space, const std::string& what, const planning::RankedPlan& best) {
  const auto words = may_not_fit_text(space, best);
  return "best by " + what + ": " + plan_name(space, best.choice) + "\n      " + placement_name(space, best.choice) +
         (words.empty() ? "" : "\n      " + words) + "\n\n";
}

/// The place of the fastest healthy plan, and what it loses by the figure of the others.
template <class Plans, class Figure>
std::string beside_the_fastest(const Plans& found, const std::string& what, const Figure& figure) {
  const auto& search = found.search;  // in the order of healthy steps
  const auto& plans = found.plans;
  const auto& fastest = search.best.front().choice;
  const std::string the_fastest =
      "\nthe plan with the fastest healthy step" + std::string(search.stopped ? " so far " : " ");
  const auto place =
      std::find_if(plans.begin(), plans.end(), [&](const auto& one) { return one.plan.choice == fastest; }) -
      plans.begin();
  if (place == 0)
    return the_fastest + (found.unproven.empty() ? "is also the best by " : "is also the best of those compared by ") +
           what + "\n";
  if (place == std::ssize(plans)) return the_fastest + "is none of these\n";
  return the_fastest + "is not the best: it is number " + std::to_string(place + 1) + ", " +
         figure(plans.front(), plans[position_of(place)]) + "\n";
}

std::string proof_text(const planning::SearchResult& search, std::size_t compared, const std::string& proven,
                       const std::string& unproven) {
  const auto& proof = search.proof;
  const auto count = [](std::int64_t number) { return with_separators(static_cast<double>(number)); };
  const auto found = "of " + counted(proof.space, "plan") + ", " + count(proof.simulated) +
                     (proof.simulated == 1 ? " was simulated and " : " were simulated and ") +
                     count(static_cast<std::int64_t>(compared)) + " compared so";
  return unproven.empty() ? "proof: " + found + "; " + proven + "\n" : "not proven: " + found + "; " + unproven + "\n";
}

}  // namespace

std::string_view name(planning::Objective objective) {
  switch (objective) {
    case planning::Objective::median: return "median";
    case planning::Objective::p95: return "p95";
    case planning::Objective::regret: return "regret";
  }
  return "";
}

std::string robust_text(const planning::PlanSpace& space, const planning::RobustPlans& plans,
                        const planning::RobustOptions& options, std::size_t shown) {
  const auto what =
      "the " + words(options) +
      (options.objective == planning::Objective::regret ? " against " + counted(plans.plans.size(), "plan") : "");
  std::string text = plan_head(space) + best_lines(space, what, plans.plans.front().plan);
  Table table({"plan", "healthy", "median", "95th", "largest regret", "MFU", "memory"});
  for (std::size_t i = 0; i < std::min(shown, plans.plans.size()); ++i) {
    const auto& one = plans.plans[i];
    table.add({std::to_string(i + 1) + ". " + plan_name(space, one.plan.choice), seconds(one.plan.figures.step_s),
               format(one.steps.median()), format(one.steps.quantile(0.95)), seconds(one.regret_s),
               percent(one.plan.figures.mfu), peak_text(Bytes(one.plan.figures.peak_bytes), program_memory(space))});
  }
  const auto loses = [&](const planning::DrawnPlan& best, const planning::DrawnPlan& fastest) {
    const double more = fastest.figure_s(options.objective) - best.figure_s(options.objective);
    return "+" + seconds(more) + " of " + what;
  };
  return text + table.to_string() + beside_the_fastest(plans, what, loses) +
         proof_text(plans.search, plans.plans.size(),
                    "every other plan takes more than " + seconds(plans.worth_until_s) +
                        " healthy, and no draw was faster than its plan's healthy step",
                    plans.unproven);
}

Json robust_json(const planning::RobustPlans& plans, const planning::RobustOptions& options, std::size_t shown) {
  Json json{{"name", name(options.objective)},      {"draws", options.draws},
            {"compared", plans.plans.size()},       {"proven", plans.unproven.empty()},
            {"others_from_s", plans.worth_until_s}, {"plans", Json::array()}};
  for (std::size_t i = 0; i < std::min(shown, plans.plans.size()); ++i) {
    const auto& one = plans.plans[i];
    json["plans"].push_back({{"median_s", one.steps.median().value()},
                             {"percentile_95_s", one.steps.quantile(0.95).value()},
                             {"mean_s", one.steps.mean().value()},
                             {"largest_regret_s", one.regret_s}});
  }
  return json;
}

std::string run_plans_text(const planning::PlanSpace& space, const planning::RunPlans& plans, std::size_t shown) {
  const std::string what = "the useful time of the run";
  std::string text = plan_head(space) + best_lines(space, what, plans.plans.front().plan);
  Table table({"plan", "healthy", "goodput", "useful step", "checkpoint", "every", "fewer chips", "memory"});
  for (std::size_t i = 0; i < std::min(shown, plans.plans.size()); ++i) {
    const auto& one = plans.plans[i];
    table.add({std::to_string(i + 1) + ". " + plan_name(space, one.plan.choice), seconds(one.plan.figures.step_s),
               fixed(100 * one.shares.useful, 2) + " %", seconds(one.useful_step_s), format(one.model.write),
               format_long(one.model.interval), fixed(100 * one.shares.fewer_chips, 2) + " %",
               peak_text(Bytes(one.plan.figures.peak_bytes), program_memory(space))});
  }
  const auto loses = [](const planning::PlanOfRun& best, const planning::PlanOfRun& fastest) {
    return "+" + fixed(100 * (fastest.useful_step_s / best.useful_step_s - 1), 2) + " % of the useful step";
  };
  return text + table.to_string() + "useful step: the healthy step over goodput\n" +
         beside_the_fastest(plans, what, loses) +
         proof_text(plans.search, plans.plans.size(),
                    "no plan's goodput is above " + fixed(100 * plans.most_goodput, 2) +
                        " %, and every other plan takes more than " + seconds(plans.worth_until_s) + " healthy",
                    plans.unproven);
}

Json run_plans_json(const planning::RunPlans& plans, std::size_t shown) {
  Json json{{"name", "run"},
            {"compared", plans.plans.size()},
            {"proven", plans.unproven.empty()},
            {"others_from_s", plans.worth_until_s},
            {"most_goodput", plans.most_goodput},
            {"plans", Json::array()}};
  for (std::size_t i = 0; i < std::min(shown, plans.plans.size()); ++i) {
    const auto& one = plans.plans[i];
    json["plans"].push_back({{"goodput", one.shares.useful},
                             {"useful_step_s", one.useful_step_s},
                             {"checkpoint_write_s", one.model.write.value()},
                             {"checkpoint_interval_s", one.model.interval.value()},
                             {"fewer_chips", one.shares.fewer_chips}});
  }
  return json;
}

}  // namespace lockstep::output
