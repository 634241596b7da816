#include "tools/commands/fastest_plan.hpp"

#include <thread>

#include "sim/studies/planning/plan_search.hpp"
#include "tools/commands/commands.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/memory_verdict.hpp"
#include "tools/output/studies/plan_report.hpp"

namespace lockstep::commands {

std::optional<FastestPlan> take_fastest_plan(GivenScenario& given, spdlog::logger& log) {
  if (!given.lacks_a_plan()) return {};
  const auto scenario = given.load();
  const planning::PlanSpace space(scenario);
  planning::SearchOptions options;
  options.top = 1;
  options.jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  options.progress = progress_line();
  const auto result = search_plans(space, options, log);
  if (result.best.empty()) {
    throw ConfigError({{{given.name(), 0, 0},
                        "",
                        "no plan of " + output::with_separators(static_cast<double>(result.proof.space)) +
                            " keeps within the memory of " + std::to_string(scenario.chips()) + " chips",
                        "more chips, fewer tokens in a step or --set training.offload=..."}});
  }
  const auto& best = result.best.front();
  given.split_by(space.keys(space.node_of(best.choice), best.choice));
  return FastestPlan{output::plan_name(space, best.choice), result.proof.space, Bytes(best.figures.peak_bytes),
                     output::program_memory(space)};
}

std::string split_by_fastest_plan(GivenScenario& given, spdlog::logger& log) {
  const auto plan = take_fastest_plan(given, log);
  if (!plan) return "";
  const bool fits = studies::fit_of(plan->peak, plan->program_memory) == studies::Fit::fits;
  return "plan: " + plan->name + "; the fastest of " + output::with_separators(static_cast<double>(plan->space)) +
         ", lockstep plan shows others" +
         (fits ? "" : "; " + output::memory_verdict(plan->peak, plan->program_memory)) + "\n";
}

}  // namespace lockstep::commands
